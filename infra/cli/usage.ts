import { stripVTControlCharacters } from 'node:util';
import { type CommandDef, renderUsage } from 'citty';
import { usageError } from './arguments.ts';

const subCommandsOf = (command: CommandDef): Record<string, CommandDef> =>
  (command.subCommands as Record<string, CommandDef> | undefined) ?? {};
const nameOf = ({ meta }: CommandDef): string => (meta as { name: string }).name;

/** Finds the innermost command and its parent, which has its full name, such as `annals store`. */
const findCommand = (words: readonly string[], command: CommandDef, parent?: CommandDef): [CommandDef, CommandDef?] => {
  const inner = subCommandsOf(command)[words[0] ?? ''];
  if (!inner) return parent ? [command, parent] : [command];
  const fullName = parent ? `${nameOf(parent)} ${nameOf(command)}` : nameOf(command);
  return findCommand(words.slice(1), inner, { ...command, meta: { name: fullName } });
};

/** The library citty would ignore an option before the name of a command. @throws a usage error that names the option */
export const rejectLeadingOptions = (words: readonly string[], command: CommandDef): void => {
  const [word = '', ...rest] = words;
  const subCommands = subCommandsOf(command);
  if (Object.keys(subCommands).length > 0 && word.startsWith('-')) throw usageError(`Unknown option ${word}`);
  if (subCommands[word]) rejectLeadingOptions(rest, subCommands[word]);
};

export const helpFor = (words: readonly string[], command: CommandDef): string => {
  const [found, parent] = findCommand(words, command);
  const name = parent ? `${nameOf(parent)} ${nameOf(found)}` : nameOf(found);
  const operation = /^annals(-client)? api$/.test(name) && /^\w/.test(words[1] ?? '') ? ` ${words[1]}` : '';
  return `${name}${operation} --help`;
};

/** Removes colours and trailing spaces, unless the stream is a terminal. */
const plainText = (text: string, stream: NodeJS.WriteStream): string =>
  stream.isTTY ? text : stripVTControlCharacters(text).replace(/ +$/gm, '');

export const showUsage = async (words: readonly string[], command: CommandDef, stream: NodeJS.WriteStream): Promise<void> =>
  void stream.write(`${plainText(await renderUsage(...findCommand(words, command)), stream)}\n`);
