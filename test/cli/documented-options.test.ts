import type { ArgsDef, CommandDef } from 'citty';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { operationsIn } from '../../infra/cli/api/api-document.ts';
import { optionName } from '../../infra/cli/api/operation-arguments.ts';
import { mainCommand } from '../../infra/main-command.ts';
import { documentation } from '../fixtures/documents.ts';
import { openapiDocument } from '../fixtures/openapi-document.ts';

type Options = ReadonlySet<string>;

const subCommandsOf = (command: CommandDef): Record<string, CommandDef> => (command.subCommands ?? {}) as Record<string, CommandDef>;

/** Returns the options of each command that does something, by the full name of the command. */
const optionsOf = (command: CommandDef, name: string): [string, Options][] => {
  const inner = Object.entries(subCommandsOf(command));
  if (inner.length > 0) return inner.flatMap(([word, one]) => optionsOf(one, `${name} ${word}`));
  const args = Object.entries((command.args ?? {}) as ArgsDef);
  return [[name, new Set(args.filter(([, { type }]) => type !== 'positional').map(([option]) => option))]];
};
const commands = new Map(optionsOf(mainCommand, 'annals'));

const optionsIn = (code: string): string[] => [...code.matchAll(/(?<![\w-])--([a-z][a-z-]*)/g)].map(([, option]) => option!);

/** Returns the name of the command with which a text begins: as many words as there are commands with these words. */
const commandIn = (code: string): string =>
  code.split(/\s+/).reduce<[string, CommandDef | undefined]>(
    ([name, command], word) => {
      const inner = command && subCommandsOf(command)[word];
      return inner ? [`${name} ${word}`, inner] : [name, undefined];
    },
    ['annals', mainCommand],
  )[0];

/** Each row of the table of commands: the command that it documents, and the options in its first cell. */
const rows = [...documentation.matchAll(/^\| (`annals .+?`) \|/gm)]
  .flatMap(([, cell]) => [...cell!.matchAll(/`annals ([^`]+)`/g)])
  .map(([, code]) => ({ command: commandIn(code!), options: optionsIn(code!) }));

test('every command has a row in the table of commands', () => {
  const documented = new Set(rows.map(({ command }) => command));
  assert.equal(
    [...commands.keys()].filter((name) => !documented.has(name)),
    [],
  );
});

for (const [name, options] of commands)
  test(`the rows of ${name} name exactly its options`, () => {
    const named = new Set(rows.filter(({ command }) => command === name).flatMap((row) => row.options));
    assert.equal([...named].sort(), [...options].sort());
  });

const operations = operationsIn(openapiDocument());

/** Returns the options of the command, and with `annals api` also the fields of the operation that the text names. */
const knownOptions = (command: string, code: string): Options => {
  const own = commands.get(command) ?? new Set();
  if (command !== 'annals api') return own;
  const operation = operations.find(({ name }) => name === code.split(/\s+/)[1]);
  const fields = [...(operation?.parameters ?? []).map(({ name }) => name), ...Object.keys(operation?.body?.schema.properties ?? {})];
  return new Set([...own, ...fields.map(optionName)]);
};

/** The calls of commands in all code of the documents: in code blocks by line, and inline. */
const blocks = [...documentation.matchAll(/^```.*\n([\s\S]*?)^```/gm)].flatMap(([, block]) => block!.replaceAll('\\\n', ' ').split('\n'));
const inline = [...documentation.replace(/^```.*\n[\s\S]*?^```/gm, '').matchAll(/`([^`]+)`/g)].map(([, code]) => code!);
const calls = [...blocks, ...inline].flatMap((code) => [...code.matchAll(/(?<![\w/-])annals ([a-z][^|;&#]*)/g)].map(([, rest]) => rest!));

/** The command of the completion library, a text that is signed with the heads of audit logs, and a message. */
const NO_COMMANDS = /^(?:complete (?:bash|\w+ \|)|audit head v\d$|already runs on )/;

const isKnown = (code: string): boolean => commands.has(commandIn(/^[\w -]*/.exec(code)![0])) || NO_COMMANDS.test(code);

test('every command of annals that the documents name exists', () =>
  assert.equal(
    calls.filter((code) => !isKnown(code)),
    [],
  ));

test('every option that the documents give to a command exists', () => {
  assert.ok(calls.length > 40, String(calls.length));
  const wrong = calls.flatMap((code) => {
    const command = commandIn(code);
    const known = knownOptions(command, code);
    return optionsIn(code)
      .filter((option) => !known.has(option) && option !== 'help')
      .map((option) => `${command} --${option}`);
  });
  assert.equal(wrong, []);
});

test.run();
