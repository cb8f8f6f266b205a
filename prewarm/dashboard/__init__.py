"""The page: one HTML file, one sheet, a few modules of plain JavaScript; served by `prewarm.http.page`."""
