/** The browsers by what their User-Agent contains. Most User-Agents also name other browsers, so the order matters. */
const BROWSERS = [
  ['Edg', 'Edge'],
  ['OPR', 'Opera'],
  ['Firefox', 'Firefox'],
  ['FxiOS', 'Firefox'],
  ['Chrome', 'Chrome'],
  ['CriOS', 'Chrome'],
  ['Version', 'Safari'],
] as const;

const SYSTEMS = [
  ['Android', 'Android'],
  ['iPhone', 'iOS'],
  ['iPad', 'iPadOS'],
  ['Windows', 'Windows'],
  ['Mac OS X', 'macOS'],
  ['CrOS', 'ChromeOS'],
  ['Linux', 'Linux'],
] as const;

/** Returns the name of a browser as people say it, such as `Chrome 156 on Linux`; null if the User-Agent is unknown. */
export const browserName = (userAgent: string | null | undefined): string | null => {
  if (!userAgent?.startsWith('Mozilla/')) return null;
  const browser = BROWSERS.find(([token]) => userAgent.includes(`${token}/`) || userAgent.includes(`${token}A/`));
  const system = SYSTEMS.find(([token]) => userAgent.includes(token));
  if (!browser || !system) return null;
  const version = new RegExp(`${browser[0]}A?/(\\d+)`).exec(userAgent)?.[1];
  return `${browser[1]}${version ? ` ${version}` : ''} on ${system[1]}`;
};
