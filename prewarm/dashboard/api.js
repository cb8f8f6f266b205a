// The service over HTTP: JSON in and out, problems as errors with their own sentence, an optional token of this tab.

const KEPT = "prewarm-token";

export function keepToken(token) {
  if (token) sessionStorage.setItem(KEPT, token);
  else sessionStorage.removeItem(KEPT);
}

export class ServiceError extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

export async function call(method, path, body) {
  const headers = {};
  const token = sessionStorage.getItem(KEPT);
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let answer;
  try {
    answer = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body), signal: AbortSignal.timeout(10000) });
  } catch {
    throw new ServiceError("The service does not answer; what is shown is the last that it said", 0);
  }
  if (answer.status === 204) return null;
  const said = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new ServiceError(said.detail || `The service answered ${answer.status}`, answer.status);
  return said;
}

export const read = (path) => call("GET", path);
export const functionPath = (key, rest) => `v1/functions/${encodeURIComponent(key)}/${rest}`;
