import { type CommandDef, runCommand } from 'citty';
import { usageError } from '../arguments.ts';
import { readClientConfig } from '../read-client-config.ts';

/** Splits the typed words where the package bash-completion, whose function does that, is not installed. */
const BASH_WORDS = `if ! declare -F _get_comp_words_by_ref > /dev/null; then
  _get_comp_words_by_ref() {
    words=("\${COMP_WORDS[@]}")
    cword=$COMP_CWORD
    cur=\${COMP_WORDS[COMP_CWORD]}
    prev=\${COMP_WORDS[COMP_CWORD - 1]}
  }
fi
`;

const SHELLS = ['bash', 'zsh', 'fish', 'powershell'];

/** Returns an empty list if the platform does not answer. */
const operationNames = async (): Promise<readonly (readonly [string, string])[]> => {
  try {
    const { annalsUrl } = await readClientConfig({ needsKey: false });
    const { readOperations } = await import('./api-document.ts');
    return (await readOperations(annalsUrl)).map(({ name, summary }) => [name, summary]);
  } catch {
    return [];
  }
};

/**
 * Prints the script for a shell (`complete bash`), or the next words, for which it asks (`complete -- <words>`).
 * @throws a usage error if the shell is unknown
 */
export const completeWords = async (main: CommandDef, words: readonly string[]): Promise<void> => {
  const [, shell = ''] = words;
  if (shell !== '--' && !SHELLS.includes(shell)) throw usageError(`Name a shell: ${SHELLS.join(', ')}`);
  const { default: tab } = await import('@bomb.sh/tab/citty');
  const names = words[2] === 'api' ? await operationNames() : [];
  const operation = (complete: (value: string, description: string) => void): void => {
    for (const [name, summary] of names) complete(name, summary);
  };
  await tab(main, { subCommands: { api: { args: { operation } } } });
  if (shell === 'bash') process.stdout.write(BASH_WORDS);
  await runCommand(main, { rawArgs: [...words] });
};
