// The fleet: clusters on a map drawn from their delays, what runs in each, and why a workload is where it is.

import { compact, element } from "./charts.js";
import { read } from "./api.js";
import { fill, text, timeOf } from "./dom.js";
import { loadScorer } from "./scorer.js";

const $ = (id) => document.getElementById(id);
const MAPPED = 24;
const WIDTH = 640, HEIGHT = 300, EDGE = 62;
const view = { absent: false, chosen: null, workload: null, places: new Map(), network: "" };

// A service without a fleet is asked once: it does not get one while it runs.
async function clustersOf() {
  if (view.absent) return [];
  try {
    return (await read("v1/clusters?limit=1000")).clusters;
  } catch (error) {
    if (error.status !== 404) throw error;
    view.absent = true;
    return [];
  }
}

export async function loadFleet() {
  const clusters = await clustersOf();
  $("fleet").hidden = clusters.length === 0;
  if (!clusters.length) return;
  const network = await read("v1/network");
  showTable(clusters);
  showMap(clusters, network);
  await loadScorer();
  if (view.chosen) await showCluster(clusters);
}

export function wireFleet(guard) {
  $("fleet").addEventListener("click", (event) => {
    const cluster = event.target.closest("[data-cluster]")?.dataset.cluster;
    const workload = event.target.closest("[data-workload]")?.dataset.workload;
    if (cluster) { view.chosen = view.chosen === cluster ? null : cluster; view.workload = null; $("cluster").hidden = !view.chosen; }
    if (workload) view.workload = view.workload === workload ? null : workload;
    if (cluster || workload) guard(loadFleet());
  });
}

const share = (part, whole) => (whole > 0 ? part / whole : 0);
const amount = (amounts, name) => (amounts === null ? null : amounts[name] ?? 0);
const gib = (bytes) => (bytes === null ? "unknown" : `${compact(bytes / 2 ** 30)} GiB`);

function showTable(clusters) {
  fill($("clusters").tBodies[0], clusters.map((one) => {
    const line = document.createElement("tr");
    line.setAttribute("aria-selected", String(one.name === view.chosen));
    const open = text("button", one.name);
    open.type = "button";
    open.dataset.cluster = one.name;
    const cells = [open, text("span", one.state, `state ${one.state}`), one.region ?? "–", compact(one.nodes), `${compact(amount(one.requested, "cpu"))} / ${compact(amount(one.allocatable, "cpu"))}`, `${gib(amount(one.requested, "memory"))} / ${gib(amount(one.allocatable, "memory"))}`, `${compact(one.ready)} / ${compact(one.instances)}`, compact(one.price), one.last_answer_s === null ? "never" : `${compact(one.last_answer_s)} s`];
    const kinds = ["", "", "wide", "num", "num wide", "num wide", "num", "num wide", "num wide"];
    cells.forEach((cell, at) => { const box = document.createElement("td"); box.className = kinds[at]; box.append(cell); line.append(box); });
    return line;
  }));
}

// Places whose distances follow the delays: a few steps of stress majorisation from a circle, the same for the same fleet.
function placesOf(names, delay) {
  const count = names.length, known = delay.flat().filter((one) => one !== null && one > 0);
  const usual = known.length ? known.reduce((a, b) => a + b, 0) / known.length : 1;
  const wish = delay.map((row, i) => row.map((one, j) => (i === j ? 0 : Math.sqrt((one ?? usual) / usual) + 0.25)));
  let at = names.map((_, i) => [Math.cos((2 * Math.PI * i) / count), Math.sin((2 * Math.PI * i) / count)]);
  for (let step = 0; step < 60; step += 1) {
    at = at.map((here, i) => {
      let [x, y, weight] = [0, 0, 0];
      at.forEach((there, j) => {
        if (i === j) return;
        const gap = Math.hypot(here[0] - there[0], here[1] - there[1]) || 1e-9, force = 1 / wish[i][j] ** 2;
        x += force * (there[0] + (wish[i][j] * (here[0] - there[0])) / gap);
        y += force * (there[1] + (wish[i][j] * (here[1] - there[1])) / gap);
        weight += force;
      });
      return weight ? [x / weight, y / weight] : here;
    });
  }
  const [xs, ys] = [at.map((one) => one[0]), at.map((one) => one[1])];
  const spread = (values, room) => { const low = Math.min(...values), high = Math.max(...values); return (one) => EDGE + (high > low ? (one - low) / (high - low) : 0.5) * (room - 2 * EDGE); };
  const [toX, toY] = [spread(xs, WIDTH), spread(ys, HEIGHT)];
  return new Map(names.map((name, i) => [name, [toX(xs[i]), toY(ys[i])]]));
}

function showMap(clusters, network) {
  const holder = $("map");
  holder.hidden = clusters.length > MAPPED || clusters.length < 2;
  if (holder.hidden) return;
  const told = JSON.stringify([network.clusters, network.delay_ms]);
  if (told !== view.network) { view.network = told; view.places = placesOf(network.clusters, network.delay_ms); }
  const svg = element("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": "Map of clusters by delay" });
  drawLinks(svg, network, clusters.length <= 8);
  const most = Math.max(...clusters.map((one) => amount(one.allocatable, "cpu") ?? 0), 1);
  for (const one of clusters) if (view.places.has(one.name)) drawCluster(svg, one, view.places.get(one.name), Math.sqrt(share(amount(one.allocatable, "cpu") ?? 0, most)));
  holder.replaceChildren(svg);
}

function drawLinks(svg, { clusters, delay_ms }, labelled) {
  clusters.forEach((a, i) => clusters.slice(i + 1).forEach((b, k) => {
    const delay = delay_ms[i][i + 1 + k];
    if (delay === null) return;
    const [from, to] = [view.places.get(a), view.places.get(b)];
    element("line", { class: "link-line", x1: from[0], y1: from[1], x2: to[0], y2: to[1] }, svg);
    if (labelled) element("text", { class: "link-delay", x: (from[0] + to[0]) / 2, y: (from[1] + to[1]) / 2 - 4 }, svg).textContent = `${compact(delay)} ms`;
  }));
}

function drawCluster(svg, one, [x, y], size) {
  const radius = 14 + 16 * size, around = 2 * Math.PI * radius;
  const known = one.requested !== null, taken = (name) => share(amount(one.requested, name) ?? 0, amount(one.allocatable, name) ?? 0);
  const used = Math.min(1, Math.max(taken("memory"), taken("cpu")));
  const group = element("g", { class: `site ${one.state}`, "data-cluster": one.name, "aria-hidden": "true" }, svg);
  element("circle", { class: "site-body", cx: x, cy: y, r: radius }, group);
  element("circle", { class: "site-used", cx: x, cy: y, r: radius, "stroke-dasharray": `${used * around} ${around}`, transform: `rotate(-90 ${x} ${y})` }, group);
  element("text", { class: "site-name", x, y: y + radius + 14 }, group).textContent = one.name;
  element("text", { class: "site-count", x, y: y + 4 }, group).textContent = one.instances === null ? "?" : compact(one.instances);
  element("title", {}, group).textContent = `${one.name}: ${one.state}, ${known ? `${one.instances} instances, ${Math.round(used * 100)} % of its room requested` : "never seen"}`;
}

async function showCluster(clusters) {
  const summary = clusters.find((one) => one.name === view.chosen);
  $("cluster").hidden = !summary;
  if (!summary) return;
  const one = await read(`v1/clusters/${encodeURIComponent(view.chosen)}`);
  $("cluster-title").textContent = one.name;
  const ages = Object.entries(one.ages_s).map(([name, age]) => `${name} ${age === null ? "unknown" : `${compact(age)} s`}`);
  $("cluster-sub").textContent = [`${one.state} since ${timeOf(one.since)}`, one.why, one.start_s === null ? "" : `an instance starts in ${compact(one.start_s)} s`, `ages: ${ages.join(", ")}`, ...one.notes].filter(Boolean).join(" · ");
  fill($("running"), one.running.map((row) => {
    const line = document.createElement("li");
    const open = text("button", row.key, "link");
    open.type = "button";
    open.dataset.workload = row.key;
    line.append(open, text("span", `${row.ready} of ${row.wanted} ready`, "change"), text("small", [row.pending ? `${row.pending} pending` : "", row.used ? `each uses ${compact(row.used.cpu)} cores, ${compact(row.used.memory / 2 ** 20)} MiB` : ""].filter(Boolean).join(" · ")));
    return line;
  }), "Nothing of a workload runs there");
  await showPlacement();
}

async function showPlacement() {
  const box = $("placement");
  box.hidden = !view.workload;
  if (!view.workload) return;
  const { decisions } = await read(`v1/decisions?function=${encodeURIComponent(view.workload)}&limit=20`);
  const made = decisions.find((one) => one.kind === "placement") ?? decisions.find((one) => one.cluster === view.chosen) ?? decisions.find((one) => one.scores);
  $("placement-title").textContent = `Why ${view.workload} is here`;
  fill($("placement-why"), made ? made.reasons.map((one) => text("li", one.text)) : [], "No decision about it is kept");
  fill($("placement-scores"), (made?.scores ?? []).slice(0, 6).map(scoreOf), "");
  fill($("placement-out"), (made?.filtered ?? []).map((one) => text("li", `${one.cluster}: ${one.reason} (${one.filter})`)), "");
}

// One cluster's score as a bar made of its factors.
function scoreOf({ cluster, score, factors }) {
  const line = document.createElement("li");
  line.append(text("span", `${cluster} ${compact(score)}`));
  const svg = element("svg", { viewBox: "0 0 100 8", preserveAspectRatio: "none", class: "score", role: "img" });
  element("title", {}, svg).textContent = factors.map((one) => `${one.name} ${one.value.toFixed(2)} × ${one.weight.toFixed(2)}`).join(", ");
  let from = 0;
  factors.filter((one) => one.contribution > 0).forEach((one, at) => {
    element("rect", { class: `part part-${at % 6}`, x: from * 100, y: 0, width: one.contribution * 100, height: 8 }, svg);
    from += one.contribution;
  });
  line.append(svg, text("small", [...factors].sort((a, b) => b.contribution - a.contribution).slice(0, 3).map((one) => `${one.name} ${one.contribution.toFixed(2)}`).join(", ")));
  return line;
}
