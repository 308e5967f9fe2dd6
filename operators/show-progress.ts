// Shows the progress of long work: a bar on a terminal, otherwise a line per step and per tenth of a long step.

const width = 30;
const tenth = 10;

/** @param stream usually standard error @returns functions to show a step with its percentage, and to end the line */
export function progressOn(stream: NodeJS.WriteStream): {
  readonly show: (step: string, percent: number) => void;
  end(): void;
} {
  let last = "";
  let tenths = 0;
  const isTerminal = stream.isTTY;
  return {
    show(step, percent) {
      const whole = Math.min(100, Math.floor(percent));
      if (!isTerminal) {
        const reached = Math.floor(whole / tenth);
        if (step !== last) stream.write(`${step}\n`);
        else if (reached > tenths) stream.write(`${step} ${reached * tenth} %\n`);
        last = step;
        tenths = reached;
        return;
      }
      const filled = Math.round((width * whole) / 100);
      const line = `[${"#".repeat(filled).padEnd(width, ".")}] ${String(whole).padStart(3)} % ${step}`;
      if (line === last) return;
      stream.write(`\r${line.padEnd(last.length)}`);
      last = line;
    },
    end() {
      if (isTerminal && last !== "") stream.write("\n");
      last = "";
    },
  };
}
