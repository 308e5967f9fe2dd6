// Names and addresses of this very machine, which no other can reach.

/** @param host as an URL or a setting writes it, without brackets */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase();
  return name === "::1" || /^(?:[^.]+\.)*localhost$/.test(name) || /^127(?:\.\d{1,3}){3}$/.test(name);
}
