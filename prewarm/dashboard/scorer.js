// The learned scorer: what it may decide, how it compares with the rule, and why the rule decides where it does.

import { read } from "./api.js";
import { compact } from "./charts.js";
import { fill, text, timeOf } from "./dom.js";

const $ = (id) => document.getElementById(id);
const percent = (share) => `${Math.round(share * 100)} %`;
const signed = (share) => `${share < 0 ? "−" : "+"}${Math.abs(share * 100).toFixed(1)} %`;

export async function loadScorer() {
  const told = await read("v1/scorer");
  $("scorer").hidden = told.name === null;
  if (told.name === null) return;
  const took = told.took_ms.p99 === undefined ? null : `P99 ${told.took_ms.p99.toFixed(1)} of ${compact(told.deadline_ms)} ms`;
  $("scorer-sub").textContent = [`${told.name} ${told.version}, ${told.form}`, `may at most: ${told.allowed.mode}`, guardOf(told.guard), took].filter(Boolean).join(" · ");
  $("scorer-sub").className = told.guard.state === "alarm" ? "note bad" : "note";
  fill($("scorer-spaces"), told.namespaces.map(spaceOf), "Nothing is compared yet");
  const { used, shadowed, declined } = told.decisions;
  fill($("scorer-counts"), [
    text("li", `${compact(used)} decided by it, ${compact(shadowed)} compared only`),
    ...Object.entries(declined).map(([why, count]) => text("li", `${compact(count)} left to the rule: ${why}`)),
  ]);
  fill($("scorer-changes"), [...told.changes].reverse().map((one) => text("li", `${timeOf(one.at)} ${one.namespace}: ${percent(one.before)} to ${percent(one.after)}, ${one.why}`)), "Its share has not changed yet");
}

function guardOf({ state, why, level }) {
  if (state === "none") return "no detector, so it is only compared";
  if (state === "alarm") return why;
  return level === null ? "nothing seen yet" : `as trained for (${level.toFixed(2)} of the limit)`;
}

function spaceOf(one) {
  const line = document.createElement("li");
  const last = one.last ? `cheaper than the rule by ${signed(one.last.mean)} (${signed(one.last.low)} to ${signed(one.last.high)}) over ${one.last.pairs} workloads` : `${one.open_pairs} compared so far`;
  line.append(text("span", one.namespace), text("span", `decides ${percent(one.share)} of ${percent(one.allowed)}`, "change"), text("small", last));
  line.title = one.why;
  return line;
}
