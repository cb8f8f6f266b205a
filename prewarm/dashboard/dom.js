// Small verbs over the document; all text goes in as text, never as markup.

export function text(name, content, className = "") {
  const made = document.createElement(name);
  made.textContent = content;
  if (className) made.className = className;
  return made;
}

// Replaces the children, and keeps the keyboard where it was.
export function fill(parent, children, empty = "") {
  const kept = parent.contains(document.activeElement) ? { ...document.activeElement.dataset } : null;
  parent.replaceChildren(...(children.length || !empty ? children : [text("li", empty, "note")]));
  if (!kept) return;
  const same = (button) => ["open", "end", "cluster", "workload"].some((name) => kept[name] && button.dataset[name] === kept[name]);
  [...parent.querySelectorAll("button")].find(same)?.focus({ preventScroll: true });
}

export const timeOf = (written) => written.slice(11, 16);

export function when(seconds) {
  if (seconds >= 2 * 86400) return `${(seconds / 86400).toFixed(0)} days`;
  if (seconds >= 7200) return `${(seconds / 3600).toFixed(0)} hours`;
  return `${Math.max(0, seconds / 60).toFixed(0)} minutes`;
}
