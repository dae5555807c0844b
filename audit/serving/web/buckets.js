// Counts over time: equal buckets from the service, carried on by live events.

const MAX_BUCKETS = 2000;
const ZERO = { allow: 0, deny: 0, unknown: 0, other: 0 };
const NAMES = Object.keys(ZERO);

export class Buckets {
  starts = []; // seconds
  size = 60; // seconds
  from = Date.now() / 1000 - 86400;
  to = Date.now() / 1000;
  total = { ...ZERO };
  #counts = [];
  #isOpen = true;

  /** Of an answer of /v1/counts; `bounds` is the window asked for in ms, null where open. */
  static of(answer, [since, until]) {
    const made = new Buckets();
    made.size = answer.bucket.size_us / 1e6;
    made.#isOpen = until === null;
    made.starts = answer.buckets.map((one) => Date.parse(one.start) / 1000);
    made.#counts = made.starts.map(() => ({ ...ZERO }));
    const at = new Map(made.starts.map((start, index) => [start, index]));
    const axis = answer.axes.indexOf("time");
    for (const group of answer.groups) {
      const bucket = made.#counts[at.get(Date.parse(group.key[axis]) / 1000)];
      for (const name of NAMES) if (bucket) bucket[name] += group[name] ?? 0;
    }
    for (const name of NAMES) made.total[name] = answer.total?.[name] ?? made.#counts.reduce((sum, one) => sum + one[name], 0);
    made.#frame(since, until);
    return made;
  }

  #frame(since, until) {
    const now = Date.now() / 1000;
    const first = this.starts[0];
    const end = this.starts.length ? this.starts.at(-1) + this.size : now;
    this.from = since === null ? first ?? now - 86400 : since / 1000;
    this.to = until === null ? (since === null ? end : Math.max(end, now)) : until / 1000;
    if (this.to <= this.from) this.to = this.from + this.size;
  }

  at(index) {
    return this.#counts[index] ?? ZERO;
  }

  /** The bucket of a time in seconds, or null outside. */
  indexAt(seconds) {
    // Searched, not divided: days have 23 or 25 hours, and far windows leave empty buckets out.
    let low = 0;
    let high = this.starts.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.starts[middle] <= seconds) low = middle + 1;
      else high = middle;
    }
    return low > 0 && seconds < this.starts[low - 1] + this.size ? low - 1 : null;
  }

  heights(shows) {
    return this.#counts.map((one) => (shows.deny ? one.deny : 0) + (shows.allow ? one.allow : 0));
  }

  /** Count a live event; false where it lies outside. */
  add(row) {
    const seconds = Date.parse(row.ts) / 1000;
    if (row.link === "report") return false; // the same operation, told twice
    this.#reach(seconds);
    const index = this.indexAt(seconds);
    if (index === null) return false;
    const name = row.kind === "decision" ? (NAMES.includes(row.decision) ? row.decision : "unknown") : "other";
    this.#counts[index][name] += row.kind === "decision" ? row.count ?? 1 : 1;
    this.total[name] += row.kind === "decision" ? row.count ?? 1 : 1;
    return true;
  }

  /** Let the window go on to `now` (s); whether anything changed. */
  slide(now) {
    if (!this.#isOpen || now <= this.to) return false;
    this.#reach(now);
    this.from += now - this.to;
    this.to = now;
    return true;
  }

  #reach(seconds) {
    if (!this.#isOpen || seconds > Date.now() / 1000 + this.size) return;
    if (!this.starts.length) this.#begin(Math.floor(seconds / this.size) * this.size);
    while (seconds >= this.starts.at(-1) + this.size && this.starts.length < MAX_BUCKETS) {
      this.#begin(this.starts.at(-1) + this.size);
    }
    if (seconds > this.to) this.to = seconds;
  }

  #begin(start) {
    this.starts.push(start);
    this.#counts.push({ ...ZERO });
  }
}
