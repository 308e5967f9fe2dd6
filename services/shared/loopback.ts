// Recognises names and addresses of the local machine, which no other machine can reach.

/** @param host as a URL or a setting writes it, without brackets */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase();
  return name === "::1" || /^(?:[^.]+\.)*localhost$/.test(name) || /^127(?:\.\d{1,3}){3}$/.test(name);
}
