// Whether the work on a text grows with its length, or faster. Counted in CPU time of this process, and by how it grows, so
// that a slow or busy machine judges as a fast one does: what is linear takes 8 times as long for 8 times the text, what is
// quadratic 64 times, what is cubic 512 times.

const factor = 8;
/** Between linear and quadratic, nearer to the latter. */
const growthMax = 32;
/** What takes less at its greatest length hurts nobody, however it grows; clocks are too coarse to say. */
const harmlessMs = 30;
const triesMax = 4;

function cpuMs(work: () => void): number {
  const { user, system } = process.cpuUsage();
  work();
  const spent = process.cpuUsage({ user, system });
  return (spent.user + spent.system) / 1000;
}

/**
 * @param textOf a text of about so many characters
 * @returns "linear", or what was measured. It is looked at again before it is blamed: a pause of the collector is no growth.
 */
export function growthOf(
  textOf: (length: number) => string,
  lengthMax: number,
  read: (text: string) => void,
): string {
  const long = textOf(lengthMax);
  const short = textOf(Math.ceil(lengthMax / factor));
  let verdict = "";
  let shortMs = Number.POSITIVE_INFINITY;
  let longMs = Number.POSITIVE_INFINITY;
  for (let tries = 0; tries < triesMax; tries++) {
    shortMs = Math.min(
      shortMs,
      cpuMs(() => read(short)),
    );
    longMs = Math.min(
      longMs,
      cpuMs(() => read(long)),
    );
    if (longMs <= harmlessMs || longMs <= growthMax * shortMs) return "linear";
    verdict = `${longMs.toFixed(0)} ms for ${long.length} characters, ${shortMs.toFixed(1)} ms for ${short.length}`;
  }
  return verdict;
}
