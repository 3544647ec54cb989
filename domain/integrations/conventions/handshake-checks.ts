const MAX_CHALLENGE_LENGTH = 4_096;

export const isChallenge = (text: string | undefined): text is string => text !== undefined && text.length <= MAX_CHALLENGE_LENGTH;

export const hasOnly = (document: unknown, ...names: readonly string[]): boolean =>
  typeof document === 'object' && document !== null && Object.keys(document).every((name) => names.includes(name));

export const hasNone = (document: object, ...names: readonly string[]): boolean => names.every((name) => !Object.hasOwn(document, name));
