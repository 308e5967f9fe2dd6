// Pure decisions about tenants.

export const platformSubdomain = "platform";
export const registrationModes = ["open", "approval", "closed"] as const;
export type RegistrationMode = (typeof registrationModes)[number];

const subdomainPattern = /^[a-z0-9](?:[a-z0-9-]{1,61}[a-z0-9])$/;

/** Names that would collide with the service's own hosts or could mislead users. */
const reserved = new Set(
  `about abuse account accounts admin administrator api app assets auth autoconfig autodiscover backup backups billing blog
   cdn console contact dashboard demo-admin dev dns docs email ftp git health help host hostmaster imap info internal
   localhost login logout mail metrics mx news noreply ns1 ns2 oauth operator pop pop3 postmaster proxy public register root
   security shop signup smtp ssl ssh staging static stats status store support sysadmin system test tls user users vpn web
   webhook webhooks webmail www wpad`.split(/\s+/),
);

/**
 * @param value the trimmed subdomain; case does not matter
 * @returns the reason why it is refused, or undefined
 */
export function subdomainFault(value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  const subdomain = value.toLowerCase();
  if (!subdomainPattern.test(subdomain)) {
    return "a subdomain is 3 to 63 letters a to z, digits and hyphens, and begins and ends with a letter or digit";
  }
  return reserved.has(subdomain) || subdomain === platformSubdomain
    ? "this subdomain is reserved"
    : undefined;
}

/**
 * Checks the only key of the free-form settings that the service itself reads.
 * @returns the reason of a refusal, or undefined
 */
export function settingsFault(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null || !("registration" in value)) return undefined;
  return registrationModes.some((mode) => mode === value.registration)
    ? undefined
    : "settings.registration is 'open', 'approval' or 'closed'";
}

/**
 * The part of the settings that the audit log records: only the known key, because the others may hold
 * anything.
 */
export function loggedSettings(settings: Record<string, unknown>): { registration?: RegistrationMode } {
  const mode = registrationModes.find((each) => each === settings.registration);
  return mode === undefined ? {} : { registration: mode };
}

/** The tenant's registration mode. @param otherwise the default of the installation */
export function registrationMode(
  settings: Record<string, unknown>,
  otherwise: RegistrationMode,
): RegistrationMode {
  return registrationModes.find((mode) => mode === settings.registration) ?? otherwise;
}
