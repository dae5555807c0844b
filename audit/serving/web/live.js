// The live stream: resumes exactly after the last seq it gave, whatever happened in between.
import { query, signedOut } from "./api.js";

const RETRY_MS = [1000, 2000, 4000, 8000];

/** `handlers`: event(row), gap(gap), upto(seq), state("live" | "waiting"). Returns `{stop}`. */
export function follow(params, after, handlers) {
  let source = null;
  let last = after;
  let tries = 0;
  let timer = 0;
  let isOver = false;

  const open = () => {
    source = new EventSource(`/v1/stream${query([...params, ["after", last]])}`);
    source.addEventListener("open", () => { tries = 0; handlers.state("live"); });
    source.addEventListener("event", (message) => {
      const row = JSON.parse(message.data);
      if (row.seq <= last) return;
      last = row.seq;
      handlers.event(row);
    });
    source.addEventListener("gap", (message) => handlers.gap(JSON.parse(message.data)));
    source.addEventListener("upto", (message) => {
      last = Math.max(last, JSON.parse(message.data).upto);
      handlers.upto(last);
    });
    source.addEventListener("error", () => {
      handlers.state("waiting");
      // The browser tries again by itself unless the answer was no stream at all.
      if (source.readyState === EventSource.CLOSED && !isOver) again();
    });
  };

  const again = () => {
    timer = setTimeout(open, RETRY_MS[Math.min(tries, RETRY_MS.length - 1)]);
    tries += 1;
  };

  const stop = () => {
    isOver = true;
    clearTimeout(timer);
    signedOut.removeEventListener("out", stop);
    source?.close();
  };
  signedOut.addEventListener("out", stop);
  open();
  return { stop };
}
