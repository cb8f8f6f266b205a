"""Reads the fleet's files again whenever asked, and answers with what they say now, or said when they were last good.

Whoever polls decides when; this only reads, off the event loop. Contexts come and go with their files' contents, but a
file that is gone or broken keeps its members and says so: a lost mount must not look like a fleet without members.
"""

from __future__ import annotations

import asyncio
import os.path
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from federation.kubeconfig.access import BrokenMember
from federation.kubeconfig.kept import KeptFile
from federation.kubeconfig.listing import Listing, Member, contexts, listing
from federation.kubeconfig.pod import ACCOUNT, in_cluster
from federation.kubeconfig.profiles import member, profiles, providers
from federation.kubeconfig.syntax.documents import Document, merge, parse
from federation.kubeconfig.syntax.fields import Fields
from prewarm.domain import InputError

SETTLE_S = 0.05
"""Between the two looks at a file that has changed."""


@dataclass(frozen=True, slots=True)
class Places:
    """Where the fleet is described; relative paths are taken from the working directory at the start.

    merged: the files of KUBECONFIG, which are one source. files: each a source of its own; where there are several, ids
    carry the file. profiles: a folder of ClusterProfiles, with the file of providers by which one logs in. pod: this
    pod's own cluster is a member too, by the files in `account`.
    """

    merged: tuple[Path, ...] = ()
    files: tuple[Path, ...] = ()
    profiles: Path | None = None
    providers: Path | None = None
    pod: bool = False
    account: Path = ACCOUNT


def kubeconfig_paths(text: str) -> tuple[Path, ...]:
    """The files of a KUBECONFIG value, each once."""
    return tuple(dict.fromkeys(Path(part) for part in text.split(os.pathsep) if part))


class FleetSource:
    """The fleet that `places` describe; between two readings nothing is watched."""

    def __init__(self, places: Places, environ: Mapping[str, str]) -> None:
        self._places, self._environ = places, environ
        self._merged = [KeptFile(path, parse) for path in _absolute(places.merged)]
        self._files = [KeptFile(path, parse) for path in _absolute(places.files)]
        self._providers = [KeptFile(path, providers) for path in _absolute([places.providers])]
        self._folder = next(iter(_absolute([places.profiles])), None)
        self._folder_error: str | None = None
        self._profiles: dict[Path, KeptFile[tuple[Fields, ...]]] = {}
        self._pod: Member | None = None
        self._last: Listing | None = None
        self._state: object = None
        self._reading = asyncio.Lock()

    async def read(self) -> Listing:
        """What the files say now; the very same object where nothing has changed.

        InputError at the first reading only, where a named file is no kubeconfig, or is missing and not one of
        KUBECONFIG's. Later on that is a notice.
        """
        async with self._reading:
            changed = await asyncio.to_thread(self._look)
            if changed:
                await asyncio.sleep(SETTLE_S)
            return await asyncio.to_thread(self._settle, changed)

    def _look(self) -> list[KeptFile[Any]]:
        self._look_at_folder()
        return [file for file in self._every() if file.look()]

    def _settle(self, changed: Iterable[KeptFile[Any]]) -> Listing:
        for file in changed:
            file.settle()
        if self._last is None:
            self._check()
        state = (self._folder_error, *(file.state for file in self._every()))
        if self._last is None or state != self._state:
            self._last, self._state = self._listing(), state
        return self._last

    def _every(self) -> list[KeptFile[Any]]:
        return [*self._merged, *self._files, *self._providers, *self._profiles.values()]

    def _look_at_folder(self) -> None:
        if self._folder is None:
            return
        try:
            found = sorted(path for path in self._folder.iterdir() if _is_profile(path))
        except OSError as error:
            self._folder_error = f"{self._folder}: {error.strerror or 'cannot be read'}"
        else:
            self._folder_error = None
            self._profiles = {path: self._profiles.get(path) or KeptFile(path, profiles) for path in found}

    def _check(self) -> None:
        """What must be right at the start, so that a mistyped path is told to the person who typed it."""
        needed = [file for file in self._merged if not file.missing]
        named: list[KeptFile[Any]] = [*self._files, *self._providers, *needed]
        for error in (self._folder_error, *(file.error for file in named)):
            if error:
                raise InputError(error)
        if self._places.pod:
            self._pod = in_cluster(self._environ, self._places.account)

    def _listing(self) -> Listing:
        merged = merge(_held(self._merged))
        separate = len(self._files) + bool(self._merged) > 1
        documents = [(merged, False), *((document, separate) for document in _held(self._files))]
        members = [self._pod] if self._pod else []
        broken: list[BrokenMember] = []
        notices = [text for file in self._every() for text in file.notices]
        if self._folder_error:
            notices.append(f"{self._folder_error}; its last members stay")
        for document, carries_file in documents:
            good, bad = contexts(document, separate=carries_file)
            members, broken = members + good, broken + bad
            notices += document.notices
        for one in self._described(notices):
            if isinstance(one, Member):
                members.append(one)
            else:
                broken.append(one)
        return listing(members, broken, notices, merged.current_context)

    def _described(self, notices: list[str]) -> Iterable[Member | BrokenMember]:
        """One member for each ClusterProfile; a second one of the same name is only told of."""
        known = tuple(provider for file in self._providers for provider in file.held or ())
        seen: set[str] = set()
        for file in self._profiles.values():
            for profile in file.held or ():
                one = member(profile, file.path, known)
                name = one.spec.id if isinstance(one, Member) else one.id
                if name in seen:
                    notices.append(f"{profile.place}: is described twice; this one is not used")
                else:
                    yield one
                seen.add(name)


def _held(files: Iterable[KeptFile[Document]]) -> list[Document]:
    return [file.held for file in files if file.held is not None]


def _absolute(paths: Iterable[Path | None]) -> list[Path]:
    return list(dict.fromkeys(Path(os.path.normpath(path.absolute())) for path in paths if path))


def _is_profile(path: Path) -> bool:
    return path.suffix in (".yaml", ".yml", ".json") and not path.name.startswith(".")
