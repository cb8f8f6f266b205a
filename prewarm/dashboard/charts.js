// Line charts in SVG: lines that break where nothing is known, bands, a crosshair for mouse, touch and arrow keys.

const SVG = "http://www.w3.org/2000/svg";
const LEFT = 40, BOTTOM = 20, TOP = 8, RIGHT = 6;

export function element(name, attributes = {}, parent = null) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (parent) parent.append(made);
  return made;
}

export const clockOf = (at) => new Date(at * 1000).toISOString().slice(11, 16);
export const known = (value) => value !== null && value !== undefined && Number.isFinite(value);

export function compact(value) {
  if (!known(value)) return "unknown";
  const size = Math.abs(value);
  if (size >= 1e6) return `${(value / 1e6).toFixed(size >= 1e7 ? 0 : 1)}M`;
  if (size >= 1e4) return `${(value / 1e3).toFixed(0)}k`;
  if (size >= 1e3) return `${(value / 1e3).toFixed(1)}k`;
  return Number.isInteger(value) ? String(value) : value.toFixed(size >= 10 ? 1 : 2);
}

function ceilNice(top) {
  if (top <= 4) return Math.max(1, Math.ceil(top));
  const unit = 10 ** Math.floor(Math.log10(top));
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((k) => k * unit).find((bound) => bound >= top);
}

function ticks(top) {
  const count = top <= 4 ? top : [5, 4, 3].find((n) => Number.isInteger((top / n) * (top < 10 ? 1 : 1))) || 4;
  return Array.from({ length: count + 1 }, (_, i) => (top * i) / count);
}

// A path through the known points; `step` holds each value for its whole minute.
function path(values, x, y, step) {
  let text = "", down = false;
  values.forEach((value, i) => {
    if (!known(value)) { down = false; return; }
    if (!down) text += `M${x(i).toFixed(1)} ${y(value).toFixed(1)}`;
    else text += step ? `H${x(i).toFixed(1)}V${y(value).toFixed(1)}` : `L${x(i).toFixed(1)} ${y(value).toFixed(1)}`;
    down = true;
  });
  return text;
}

function area(low, high, x, y) {
  let text = "", run = [];
  const close = () => {
    if (run.length > 1) text += `M${run.map((i) => `${x(i).toFixed(1)} ${y(high[i]).toFixed(1)}`).join("L")}L${run.reverse().map((i) => `${x(i).toFixed(1)} ${y(low[i]).toFixed(1)}`).join("L")}Z`;
    run = [];
  };
  high.forEach((value, i) => (known(value) && known(low[i]) ? run.push(i) : close()));
  close();
  return text;
}

// series: [{label, kind: "line" | "step" | "band", name: css class, values, low}]; at: seconds of each point.
export function draw(holder, { at, series, label, split = null }) {
  const box = holder.getBoundingClientRect();
  const legend = legendOf(holder, series);
  const width = Math.max(box.width, 120), height = Math.max(box.height - legend.offsetHeight - 4, 80);
  const svg = holder.querySelector("svg") || element("svg", { role: "img", tabindex: "0" }, holder);
  svg.replaceChildren();
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("aria-label", summary(label, series));
  const top = ceilNice(Math.max(1e-9, ...series.flatMap((one) => one.values.filter(known))));
  const x = (i) => LEFT + (at.length < 2 ? 0 : (i / (at.length - 1)) * (width - LEFT - RIGHT));
  const y = (value) => height - BOTTOM - (value / top) * (height - BOTTOM - TOP);
  axes(svg, { at, x, y, top, width, height });
  for (const one of series) {
    if (one.kind === "band") element("path", { class: `area ${one.name}`, d: area(one.low, one.values, x, y) }, svg);
    else {
      if (one.fill) element("path", { class: `area ${one.name}`, d: area(one.values.map(() => 0), one.values, x, y) }, svg);
      element("path", { class: `stroke ${one.name}`, d: path(one.values, x, y, one.kind === "step") }, svg);
    }
  }
  if (split !== null) element("line", { class: "cross", x1: x(split), x2: x(split), y1: TOP, y2: height - BOTTOM }, svg);
  holder.state = { at, series, x, width, height };
  watch(holder, svg);
}

function axes(svg, { at, x, y, top, width, height }) {
  for (const value of ticks(top)) {
    element("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y(value), y2: y(value) }, svg);
    element("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, svg).textContent = compact(value);
  }
  if (!at.length) {
    element("text", { x: width / 2, y: height / 2, "text-anchor": "middle" }, svg).textContent = "Nothing recorded yet";
    return;
  }
  const span = (at[at.length - 1] - at[0]) / 60;
  const every = [5, 10, 15, 30, 60, 120, 240, 360].find((minutes) => span / minutes <= width / 75) || 720;
  at.forEach((moment, i) => {
    const minute = Math.round(moment / 60);
    if (minute % every === 0 && x(i) > LEFT + 12 && x(i) < width - 18) element("text", { x: x(i), y: height - 5, "text-anchor": "middle" }, svg).textContent = clockOf(moment);
  });
}

function legendOf(holder, series) {
  let legend = holder.querySelector(".legend");
  if (!legend) {
    legend = document.createElement("div");
    legend.className = "legend";
    legend.setAttribute("aria-hidden", "true");
    holder.prepend(legend);
  }
  const names = series.map((one) => `${one.name}/${one.label}`).join();
  if (legend.dataset.names !== names) {
    legend.dataset.names = names;
    legend.replaceChildren(...series.map((one) => {
      const key = document.createElement("span");
      key.className = `${one.name}${one.kind === "band" ? " area" : ""}`;
      key.textContent = one.label;
      return key;
    }));
  }
  return legend;
}

function summary(label, series) {
  const latest = series.map((one) => `${one.label} ${compact([...one.values].reverse().find(known))}`);
  return `${label}. Latest: ${latest.join(", ")}. Arrow keys read earlier minutes.`;
}

function watch(holder, svg) {
  if (holder.watched) { show(holder, svg, holder.shown ?? null); return; }
  holder.watched = true;
  const nearest = (event) => {
    const box = svg.getBoundingClientRect();
    const { at, width } = holder.state;
    const share = (((event.clientX - box.left) / box.width) * width - LEFT) / (width - LEFT - RIGHT);
    return Math.min(at.length - 1, Math.max(0, Math.round(share * (at.length - 1))));
  };
  svg.addEventListener("pointermove", (event) => show(holder, svg, nearest(event)));
  svg.addEventListener("pointerleave", () => show(holder, svg, null));
  svg.addEventListener("blur", () => show(holder, svg, null));
  svg.addEventListener("keydown", (event) => {
    const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!move) return;
    event.preventDefault();
    const last = holder.state.at.length - 1;
    show(holder, svg, Math.min(last, Math.max(0, (holder.shown ?? last) + move)));
  });
}

function show(holder, svg, index) {
  holder.shown = index;
  svg.querySelector(".hover")?.remove();
  let tip = holder.querySelector(".tip");
  if (index === null || !holder.state.at.length) { tip?.remove(); return; }
  const { at, series, x, width, height } = holder.state;
  element("line", { class: "cross hover", x1: x(index), x2: x(index), y1: TOP, y2: height - BOTTOM }, svg);
  if (!tip) {
    tip = document.createElement("div");
    tip.className = "tip";
    tip.setAttribute("role", "status");
    holder.append(tip);
  }
  const lines = series.map((one) => (one.kind === "band" ? `${one.label}: ${compact(one.low[index])} to ${compact(one.values[index])}` : `${one.label}: ${compact(one.values[index])}`));
  tip.replaceChildren(...[`${clockOf(at[index])} UTC`, ...lines].map((text) => Object.assign(document.createElement("div"), { textContent: text })));
  const share = x(index) / width;
  tip.style.top = "34px";
  tip.style.left = share < 0.5 ? `${share * 100 + 2}%` : "";
  tip.style.right = share < 0.5 ? "" : `${(1 - share) * 100 + 2}%`;
}
