import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../fixtures/child-process.ts';

export const readme = readFileSync(join(root, 'README.md'), 'utf8');

/** Returns the text of a section of the README, from its heading to the next heading. @throws Error if there is none */
const sectionOf = (heading: string): string => {
  const [, text] = readme.split(`\n${heading}\n`);
  if (text === undefined) throw new Error(`the README has no section ${heading}`);
  return text.split(/^#+ /m)[0]!;
};

/** Returns the shell commands of a section, as one text for each code block. */
export const blocksOf = (heading: string): string[] =>
  [...sectionOf(heading).matchAll(/^```sh\n(.*?)^```$/gms)].map(([, commands]) => commands!);

/** Returns the command that a section shows between backticks, and that begins so. @throws Error if there is none */
export const commandOf = (heading: string, start: string): string => {
  const commands = [...sectionOf(heading).matchAll(/`([^`\n]+)`/g)].map(([, command]) => command!);
  const found = commands.find((command) => command.startsWith(start));
  if (found === undefined) throw new Error(`the section ${heading} shows no command that begins with ${start}`);
  return found;
};
