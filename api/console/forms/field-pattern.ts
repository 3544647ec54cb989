/**
 * Returns a pattern as browsers read it: with the flag `v`, in which a hyphen at the end of a character class must be
 * escaped. Null if browsers would not accept the pattern. The API checks the field in any case.
 */
export const patternFor = (pattern: string | null): string | null => {
  const escaped = pattern?.replaceAll(/(?<!\\)-\]/g, '\\-]') ?? null;
  try {
    if (escaped !== null) new RegExp(escaped, 'v');
    return escaped;
  } catch {
    return null;
  }
};
