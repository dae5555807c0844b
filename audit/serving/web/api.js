// One way to ask the service: JSON in, or an ApiError with the service's own words.

const TIMEOUT_MS = 35_000; // the service gives up on a query after 30 s and says so itself

export class ApiError extends Error {
  constructor(status, code, message, hint) {
    super(message);
    Object.assign(this, { status, code, hint });
  }
}

export const signedOut = new EventTarget();

/** `[["decision","deny"]]` or an object (lists repeat) as a query string. */
export function query(params) {
  const pairs = Array.isArray(params) ? params : Object.entries(params);
  const out = new URLSearchParams();
  for (const [name, value] of pairs) {
    if (value === undefined || value === null || value === "") continue;
    for (const one of [value].flat()) out.append(name, one);
  }
  const text = out.toString();
  return text ? `?${text}` : "";
}

/** GET JSON; throws ApiError, and AbortError when `signal` was used. */
export async function get(path, params = {}, signal = undefined) {
  const limit = AbortSignal.timeout(TIMEOUT_MS);
  const ends = signal ? AbortSignal.any([signal, limit]) : limit;
  return answer(await ask(path + query(params), { signal: ends, headers: { Accept: "application/json" } }));
}

/** POST or DELETE; resolves to JSON or null. */
export async function send(method, path, body = undefined) {
  const headers = body === undefined ? {} : { "Content-Type": "application/json" };
  return answer(await ask(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) }), true);
}

async function ask(url, options) {
  try {
    return await fetch(url, { credentials: "same-origin", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    if (error.name === "TimeoutError") throw new ApiError(0, "E_TIMEOUT", "the service did not answer in 35 s", "narrow the time or the filter");
    throw new ApiError(0, "E_UNREACHABLE", "the service does not answer", "is `audit serve` still running?");
  }
}

async function answer(response, quiet = false) {
  if (response.status === 204) return null;
  const body = await response.json().catch(() => null);
  if (response.ok && body !== null) return body;
  const told = body?.error ?? {};
  const error = new ApiError(response.status, told.code ?? "E_BUG", told.message ?? `the service answered ${response.status}`, told.hint);
  if (response.status === 401 && !quiet) signedOut.dispatchEvent(new CustomEvent("out", { detail: error }));
  throw error;
}
