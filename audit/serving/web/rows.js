// The events of the list, newest first, strictly by seq: a bounded window over what matches.
import { get } from "./api.js";
import { NEEDED } from "./cells.js";

export const FIRST = 200; // enough for the first screen; small, so that it comes at once
const PAGES = [1000, 5000]; // each page as many as are held, within these
export const MAX_ROWS = 100_000; // ~60 MB in the browser; narrow the window for more

export class Rows {
  items = [];
  more = false;
  upto = 0;
  gaps = [];
  damaged = [];
  #params = [];
  #loading = null;

  get isLoading() {
    return this.#loading !== null;
  }
  get isFull() {
    return this.items.length >= MAX_ROWS;
  }

  /** The newest rows of a question; what was held before goes. */
  async start(params, signal) {
    const answer = await get("/v1/events", [...params, ["limit", FIRST], ["columns", NEEDED]], signal);
    this.#params = params;
    this.#loading = null;
    Object.assign(this, { items: answer.events, more: answer.more, upto: answer.upto, gaps: answer.gaps ?? [], damaged: answer.damaged ?? [] });
    return answer;
  }

  /** The next older page; one at a time. */
  older(signal) {
    const limit = Math.min(PAGES[1], Math.max(PAGES[0], this.items.length), MAX_ROWS - this.items.length);
    if (!this.more || this.isFull) return Promise.resolve(0);
    this.#loading ??= this.#fetchOlder(signal, limit).finally(() => { this.#loading = null; });
    return this.#loading;
  }

  async #fetchOlder(signal, limit) {
    const held = this.items;
    const before = held.at(-1)?.seq;
    const answer = await get("/v1/events", [...this.#params, ["limit", limit], ["before", before], ["columns", NEEDED]], signal);
    if (this.items !== held) return 0; // another question was asked meanwhile
    for (const row of answer.events) held.push(row);
    this.more = answer.more;
    return answer.events.length;
  }

  /** New rows, oldest first as they came; over the bound the oldest go. */
  prepend(fresh) {
    const newest = this.items[0]?.seq ?? 0;
    const added = fresh.filter((row) => row.seq > newest).reverse();
    this.items = added.concat(this.items);
    if (this.items.length > MAX_ROWS) {
      this.items.length = MAX_ROWS;
      this.more = true;
    }
    return added.length;
  }

  /** The index of a seq, or -1. */
  indexOf(seq) {
    let low = 0;
    let high = this.items.length - 1;
    while (low <= high) {
      const middle = (low + high) >> 1;
      const at = this.items[middle].seq;
      if (at === seq) return middle;
      if (at > seq) low = middle + 1;
      else high = middle - 1;
    }
    return -1;
  }
}
