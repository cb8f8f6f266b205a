// One function: its minutes and what is forecast for the next ones, and why its number is what it is.

import { compact, draw, element } from "./charts.js";
import { fill, text } from "./dom.js";

const nulls = (count) => Array.from({ length: count }, () => null);

export function drawFunction(holder, { minutes }, forecast) {
  const past = minutes.at.length, coming = forecast.steps.length;
  const names = Object.keys(forecast.steps[0]?.quantiles ?? {});
  const low = names[0], high = names[names.length - 1];
  const at = [...minutes.at, ...forecast.steps.map((step) => Date.parse(step.at) / 1000)];
  draw(holder, { at, split: past ? past - 1 : null, label: "Instances of this function", series: [
    { label: "forecast, 80 % band", kind: "band", name: "forecast", values: [...minutes.high, ...forecast.steps.map((step) => step.quantiles[high])], low: [...minutes.low, ...forecast.steps.map((step) => step.quantiles[low])] },
    { label: "kept warm", kind: "step", name: "warm", values: [...minutes.warm, ...nulls(coming)], fill: false },
    { label: "needed", kind: "step", name: "need", values: [...minutes.need, ...nulls(coming)] },
    { label: "forecast", kind: "line", name: "forecast", values: [...minutes.mean, ...forecast.steps.map((step) => step.mean)] },
  ] });
}

export function showWhy(decision) {
  const verdict = decision.held ? `Held: ${decision.held}` : decision.to === decision.from ? `Stays at ${decision.to}` : `${decision.from} → ${decision.to} instances`;
  document.getElementById("why-head").textContent = verdict + (decision.applied ? "" : decision.mode === "active" ? "" : ` (${decision.mode}: not carried out)`);
  fill(document.getElementById("why"), decision.reasons.map(reasonOf), "No reason was recorded");
  const { inputs, policy } = decision;
  const parts = [`cold start costs ${compact(inputs.cost_cold)}`, `an idle minute ${compact(inputs.cost_idle_per_min)}`, `start takes ${compact(inputs.lead_s)} s`, `data is ${inputs.data_age_s === null ? "absent" : `${compact(inputs.data_age_s)} s old`}`, policy.rule_decided ? `plain rule decided: ${policy.why}` : `${policy.name} ${policy.version}`];
  document.getElementById("why-inputs").textContent = `${parts.join(" · ")}. Decision ${decision.id}`;
}

function reasonOf(reason) {
  const kind = reason.factor === "override" ? "override" : reason.factor.startsWith("p_at_least") && reason.value > reason.against ? "decisive" : "";
  const line = text("li", reason.text, kind);
  if (reason.factor.startsWith("p_at_least") && reason.value !== null && reason.against !== null) line.append(meter(reason.value, reason.against));
  return line;
}

// The chance as a bar, the price as a mark on it.
function meter(value, against) {
  const box = document.createElement("div");
  box.className = "meter";
  box.setAttribute("aria-hidden", "true");
  const svg = element("svg", { preserveAspectRatio: "none", viewBox: "0 0 100 6" });
  element("rect", { class: "value", x: 0, y: 0, width: Math.min(100, value * 100), height: 6 }, svg);
  element("rect", { class: "mark", x: Math.min(99, against * 100), y: 0, width: 0.8, height: 6 }, svg);
  box.append(svg);
  return box;
}
