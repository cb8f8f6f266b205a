// The page: asks the service once a second or two, draws what it says, and sends what a person decides.

import { call, functionPath, keepToken, read, ServiceError } from "./api.js";
import { compact, draw } from "./charts.js";
import { drawFunction, showWhy } from "./detail.js";
import { fill, text, timeOf, when } from "./dom.js";
import { loadFleet, wireFleet } from "./fleet.js";

const $ = (id) => document.getElementById(id);
const state = { rows: [], limit: 60, sort: "key", falling: false, chosen: null, now: 0, listNext: null, busy: false, tick_s: 60 };

function complain(error) {
  const box = $("problem");
  box.hidden = !error;
  if (!error) return;
  box.textContent = error.message;
  if (error.status === 401 && !$("ask").open && !state.asked) { state.asked = true; $("ask").showModal(); }
}

function share(ours, theirs) {
  return theirs > 0 ? (ours - theirs) / theirs : null;
}

function showShare(id, value) {
  const box = $(id);
  box.textContent = value === null ? "–" : `${value > 0 ? "+" : value < 0 ? "−" : ""}${Math.abs(value * 100).toFixed(0)} %`;
  box.className = `figure ${value === null ? "" : value <= 0 ? "good" : "bad"}`;
}

function showFigures(overview) {
  const { totals, service } = overview;
  showShare("fig-cost", share(totals.rum, totals.rum_ka10));
  $("note-cost").textContent = `a cold start at 0.808, an idle GB·s at 1/99.69: ${compact(totals.rum)} against ${compact(totals.rum_ka10)}`;
  const avoided = totals.cold_ka10 - totals.cold;
  const cold = $("fig-cold");
  cold.textContent = totals.cold_ka10 ? compact(avoided).replace("-", "−") : "–";
  cold.className = `figure ${avoided >= 0 ? "good" : "bad"}`;
  const relative = share(totals.cold, totals.cold_ka10);
  $("note-cold").textContent = `${compact(totals.cold)} against ${compact(totals.cold_ka10)} of KA-10${relative === null ? "" : ` (${relative <= 0 ? "−" : "+"}${Math.abs(relative * 100).toFixed(0)} %)`}, in ${when(service.now - totals.since)}`;
  showShare("fig-waste", share(totals.waste_gb_s, totals.waste_ka10_gb_s));
  $("note-waste").textContent = `${compact(totals.waste_gb_s)} against ${compact(totals.waste_ka10_gb_s)} GB·s`;
  $("fig-warm").textContent = compact(totals.warm);
  $("note-warm").textContent = `${totals.needed === null ? "unknown" : compact(totals.needed)} needed in the last minute, ${compact(totals.functions)} functions`;
  $("fig-policy").textContent = service.policy.rule_decided ? "plain rule" : service.policy.model;
  $("note-policy").textContent = service.policy.why || `${service.policy.name} ${service.policy.version}, mode ${service.mode}`;
  const missing = totals.data.stale + totals.data.none;
  $("fig-data").textContent = missing ? `${missing} held` : "complete";
  $("fig-data").className = `figure ${missing ? "bad" : "good"}`;
  $("note-data").textContent = `${totals.data.ok} ok, ${totals.data.partial} partial, ${totals.data.stale} stale, ${totals.data.none} none`;
}

function runningSum(values) {
  let sum = 0;
  return values.map((value) => (sum += value));
}

function showCharts({ at, need, mean, low, high, warm, warm_ka10, cold, cold_ka10, waste_gb_s, waste_ka10_gb_s }) {
  draw($("chart-demand"), { at, label: "Demand against forecast", series: [
    { label: "forecast, 80 % band", kind: "band", name: "forecast", values: high, low },
    { label: "needed", kind: "line", name: "need", values: need },
    { label: "forecast", kind: "line", name: "forecast", values: mean },
  ] });
  draw($("chart-warm"), { at, label: "Warm against needed", series: [
    { label: "KA-10", kind: "step", name: "ka10", values: warm_ka10 },
    { label: "kept warm", kind: "step", name: "warm", values: warm },
    { label: "needed", kind: "line", name: "need", values: need },
  ] });
  draw($("chart-cold"), { at, label: "Cold starts", series: [
    { label: "KA-10", kind: "line", name: "ka10", values: runningSum(cold_ka10) },
    { label: "prewarm", kind: "line", name: "warm", values: runningSum(cold), fill: true },
  ] });
  draw($("chart-waste"), { at, label: "Idle memory", series: [
    { label: "KA-10", kind: "line", name: "ka10", values: runningSum(waste_ka10_gb_s) },
    { label: "prewarm", kind: "line", name: "warm", values: runningSum(waste_gb_s), fill: true },
  ] });
}

function showService(service) {
  state.now = service.now;
  state.tick_s = service.tick_s;
  $("simulated").hidden = !service.simulated;
  $("now").textContent = `${new Date(service.now * 1000).toISOString().slice(0, 16).replace("T", " ")} UTC`;
  $("pace").textContent = service.simulated ? `${compact(service.speed)}× real time` : "";
  if (document.activeElement !== $("mode")) $("mode").value = service.mode;
  $("version").textContent = `prewarm ${service.version}`;
  document.title = service.simulated ? "prewarm (simulated)" : "prewarm";
}

function showRows() {
  const order = [...state.rows].sort((a, b) => {
    const [x, y] = [a[state.sort] ?? "", b[state.sort] ?? ""];
    return (x < y ? -1 : x > y ? 1 : a.key < b.key ? -1 : 1) * (state.falling ? -1 : 1);
  });
  fill($("functions").tBodies[0], order.slice(0, state.limit).map(rowOf));
  $("count").textContent = `${state.rows.length}${state.listNext ? " or more" : ""} found`;
  $("more").hidden = order.length <= state.limit;
}

function rowOf(row) {
  const line = document.createElement("tr");
  line.setAttribute("aria-selected", String(row.key === state.chosen));
  const open = text("button", row.key);
  open.type = "button";
  open.dataset.open = row.key;
  const cells = [open, compact(row.warm), compact(row.needed), compact(row.cold), compact(row.cold_ka10), text("span", row.data, `state ${row.data}`), row.last_call ? timeOf(row.last_call) : "–", row.override ? `${row.override.action} ${row.override.value ?? ""}` : ""];
  const names = ["", "num", "num", "num", "num wide", "wide", "wide", "wide"];
  cells.forEach((cell, i) => {
    const box = document.createElement("td");
    box.className = names[i];
    box.append(cell);
    line.append(box);
  });
  return line;
}

async function loadRows() {
  const search = $("search").value.trim();
  const answer = await read(`v1/functions?limit=1000${search ? `&search=${encodeURIComponent(search)}` : ""}`);
  state.rows = answer.functions;
  state.listNext = answer.next;
  showRows();
}

function changeOf(decision) {
  if (decision.held) return text("span", "held", "change held");
  const kind = decision.to > decision.from ? "up" : decision.to < decision.from ? "down" : "";
  return text("span", `${decision.from} → ${decision.to}`, `change ${kind}`);
}

function openerOf(key) {
  const open = text("button", key, "link");
  open.type = "button";
  open.dataset.open = key;
  return open;
}

async function loadDecisions() {
  const { decisions } = await read("v1/decisions?limit=12");
  fill($("decisions"), decisions.map((one) => {
    const line = document.createElement("li");
    line.append(text("time", timeOf(one.at)), openerOf(one.function), changeOf(one), text("small", one.held || one.reasons[0]?.text || ""));
    return line;
  }), "Nothing has changed yet");
}

async function loadOverrides() {
  const { overrides } = await read("v1/overrides?limit=100");
  fill($("overrides"), overrides.map((one) => {
    const line = document.createElement("li");
    const end = text("button", "End", "quiet");
    end.type = "button";
    end.dataset.end = one.cluster ? `${one.function}@${one.cluster}` : one.function;
    end.setAttribute("aria-label", `End the override of ${one.function}`);
    line.append(text("span", `${one.action} ${one.value ?? ""}`, "change"), openerOf(one.function), end,
      text("small", `${one.owner}: ${one.reason}; ${one.expires_at ? `until ${one.expires_at.slice(0, 16).replace("T", " ")} UTC` : "until ended"}`));
    return line;
  }), "None. A function's panel sets one.");
  return overrides;
}

async function loadDetail() {
  const key = state.chosen;
  if (!key) return;
  const [history, forecast, decision] = await Promise.all([
    read(functionPath(key, "history?minutes=120")), read(functionPath(key, "forecast?steps=30")), read(functionPath(key, "decision")),
  ]);
  if (key !== state.chosen) return;
  drawFunction($("chart-function"), history, forecast);
  showWhy(decision);
  $("detail-sub").textContent = `Forecast: ${forecast.reason}`;
}

async function choose(key) {
  state.chosen = key;
  $("detail").hidden = !key;
  showRows();
  if (!key) return;
  $("detail-title").textContent = key;
  await loadDetail().catch(complain);
  $("detail").focus({ preventScroll: true });
  $("detail").scrollIntoView({ block: "nearest", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
}

async function refresh() {
  if (document.hidden || state.busy) return;
  state.busy = true;
  try {
    const overview = await read("v1/overview?minutes=180");
    showService(overview.service);
    showFigures(overview);
    showCharts(overview.minutes);
    await Promise.all([loadRows(), loadDecisions(), loadOverrides(), loadDetail(), loadFleet()]);
    complain(null);
    document.documentElement.dataset.ready = "yes";
  } catch (error) {
    complain(error instanceof ServiceError ? error : new ServiceError(`The page failed: ${error.message}`, 0));
  } finally {
    state.busy = false;
  }
}

async function attempt(work) {
  try {
    await work();
    await refresh();
  } catch (error) {
    complain(error);
  }
}

async function setMode(event) {
  const modes = await read("v1/mode");
  await call("PUT", "v1/mode", { ...modes, default: event.target.value });
  event.target.blur();
}

async function setOverride(event) {
  const given = Object.fromEntries(new FormData(event.target));
  const counted = ["pin", "floor", "ceiling"].includes(given.action);
  const ends = given.for ? new Date((state.now + Number(given.for)) * 1000).toISOString() : null;
  await call("PUT", `v1/overrides/${encodeURIComponent(state.chosen)}`, { action: given.action, value: counted ? Number(given.value) : null, owner: given.owner, reason: given.reason, expires_at: ends });
}

function listen() {
  document.addEventListener("click", (event) => {
    const { open, end, sort } = event.target.closest("button")?.dataset ?? {};
    if (open) choose(open);
    if (end) attempt(() => call("DELETE", `v1/overrides/${encodeURIComponent(end)}`));
    if (sort) {
      state.falling = state.sort === sort ? !state.falling : sort !== "key";
      state.sort = sort;
      for (const head of document.querySelectorAll("th")) head.removeAttribute("aria-sort");
      event.target.closest("th").setAttribute("aria-sort", state.falling ? "descending" : "ascending");
      showRows();
    }
  });
  wireFleet((work) => work.catch(complain));
  let typing = 0;
  $("search").addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(() => loadRows().catch(complain), 150); });
  $("more").addEventListener("click", () => { state.limit += 200; showRows(); });
  $("close").addEventListener("click", () => choose(null));
  $("mode").addEventListener("change", (event) => attempt(() => setMode(event)));
  $("override").addEventListener("submit", (event) => { event.preventDefault(); attempt(() => setOverride(event)); });
  $("override").elements.action.addEventListener("change", (event) => { $("override").elements.value.disabled = !["pin", "floor", "ceiling"].includes(event.target.value); });
  $("theme").addEventListener("click", () => theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
  $("token").addEventListener("click", () => $("ask").showModal());
  $("ask").addEventListener("close", () => { if ($("ask").returnValue === "ok") { keepToken($("ask-token").value); refresh(); } $("ask-token").value = ""; });
  document.addEventListener("visibilitychange", refresh);
  window.addEventListener("resize", refresh);
}

function theme(name) {
  document.documentElement.dataset.theme = name;
  localStorage.setItem("prewarm-theme", name);
}

theme(localStorage.getItem("prewarm-theme") || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
listen();
await refresh();
setInterval(refresh, 2000);
