import { escapeLine } from './escape-controls.ts';

/**
 * Prints one line of text or JSON. Control characters are escaped, because the line can contain what a server, a tenant
 * or a file says: it must neither control the terminal nor forge another line.
 */
export const printLine = (line: string): void => console.log(escapeLine(line));

/** Prints one line to standard error, like `printLine`. */
export const printErrorLine = (line: string): void => console.error(escapeLine(line));
