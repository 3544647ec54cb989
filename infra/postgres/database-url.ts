const FORMS = 'must be a URL that begins with postgres:// or postgresql://';

/**
 * Returns what is wrong with DATABASE_URL, as the end of a sentence that begins with the name of the variable; null if
 * it is well-formed. The text never contains a part of the URL.
 */
export const databaseUrlProblem = (text: string): string | null => {
  if (!/^postgres(ql)?:\/\//.test(text)) return FORMS;
  const authority = text.slice(text.indexOf('//') + 2).split(/[/?]/, 1)[0]!;
  if (authority.slice(authority.lastIndexOf('@') + 1).includes(','))
    return 'must name one host: for several servers, name the address of a proxy that leads to the primary';
  if (!URL.canParse(text)) return 'must have the special characters of its user and password percent-encoded, and a port up to 65535';
  return new URL(text).hash === '' ? null : 'must have # percent-encoded';
};
