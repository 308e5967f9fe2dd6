// Checks whether the installed packages are those of package-lock.json. npm records what it has installed in
// node_modules/.package-lock.json. It writes that file last, so after an interrupted installation it is missing or old.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * @param {string} root folder of package.json
 * @param {boolean} withDev whether the packages for developing are needed too
 * @returns {string | undefined} what is wrong, in a few words; undefined if nothing is missing
 */
export function whatIsMissing(root, withDev) {
  if (!existsSync(join(root, "node_modules"))) return "none are installed yet";
  const wanted = packagesOf(join(root, "package-lock.json"));
  if (wanted === undefined) return missingByName(root, withDev);
  const installed = packagesOf(join(root, "node_modules/.package-lock.json"));
  if (installed === undefined) return "an earlier installation did not end";
  for (const [place, { version, integrity, dev, optional, devOptional }] of Object.entries(wanted)) {
    if (place === "" || (dev && !withDev)) continue;
    const found = installed[place];
    // A package for another platform, or an optional one that npm could not fetch.
    if (found === undefined && (optional || devOptional)) continue;
    if (found === undefined || !existsSync(join(root, place, "package.json")))
      return `${nameOf(place)} is missing`;
    if (found.version !== version || (integrity && found.integrity && found.integrity !== integrity))
      return `${nameOf(place)} is another version`;
  }
  return undefined;
}

/** Whether development packages are installed: the next installation must not remove them. */
export function hasDev(root) {
  const installed = packagesOf(join(root, "node_modules/.package-lock.json")) ?? {};
  return Object.values(installed).some(({ dev }) => dev === true);
}

const nameOf = (place) => place.slice(place.lastIndexOf("node_modules/") + "node_modules/".length);

function packagesOf(file) {
  try {
    return JSON.parse(readFileSync(file, "utf8")).packages;
  } catch {
    return undefined;
  }
}

/** Without a lock file the packages in package.json must be present, in any version. */
function missingByName(root, withDev) {
  const { dependencies = {}, devDependencies = {} } = JSON.parse(
    readFileSync(join(root, "package.json"), "utf8"),
  );
  const names = Object.keys({ ...dependencies, ...(withDev ? devDependencies : {}) });
  const missing = names.find((name) => !existsSync(join(root, "node_modules", name, "package.json")));
  return missing === undefined ? undefined : `${missing} is missing`;
}
