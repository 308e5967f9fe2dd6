// How far long work is: a bar on a terminal, a line per step elsewhere.

const width = 30;

export function progressOn(stream: NodeJS.WriteStream): {
  readonly show: (step: string, percent: number) => void;
  end(): void;
} {
  let last = "";
  const isTerminal = stream.isTTY;
  return {
    show(step, percent) {
      const whole = Math.min(100, Math.floor(percent));
      if (!isTerminal) {
        if (step !== last) stream.write(`${step}\n`);
        last = step;
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
    },
  };
}
