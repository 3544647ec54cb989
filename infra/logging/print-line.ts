import { escapeLine } from './escape-controls.ts';

/** The line can contain what a server, a tenant or a file says: escaped, so that it neither controls the terminal nor forges a line. */
export const printLine = (line: string): void => console.log(escapeLine(line));

/** Prints one line to standard error, like `printLine`. */
export const printErrorLine = (line: string): void => console.error(escapeLine(line));
