import { defineCommand } from 'citty';
import { finish } from '../../processes/exit.ts';
import { readClientConfig } from '../read-client-config.ts';

const readService = async () => {
  const { annalsUrl, annalsKey } = await readClientConfig({ needsKey: false });
  return { url: annalsUrl, key: annalsKey || undefined };
};

export const apiCommand = defineCommand({
  meta: { name: 'api', description: 'Call any operation of the API; without one, list them' },
  args: {
    operation: { type: 'positional', description: 'The operation, such as listAgents; its --help shows its fields', required: false },
    json: { type: 'string', description: 'The request body as JSON, or - for standard input' },
    all: { type: 'boolean', description: 'Read all pages of a list' },
    watch: { type: 'boolean', description: 'Print the answer of a read again whenever it changes, until Ctrl-C' },
    'as-of': {
      type: 'string',
      description: 'Read the state at an earlier time (RFC 3339) or Consistency-Token; only for reads that have this field',
    },
    columns: { type: 'string', description: 'The fields that a table shows, such as status,created_at,name' },
    output: { type: 'string', description: 'json or table (default: a table on a terminal if the answer is a list)' },
  },
  run: async ({ rawArgs }) => {
    const [operation, ...words] = rawArgs;
    const service = await readService();
    const { callOperation } = await import('./call-operation.ts');
    const { listOperations } = await import('./describe-operations.ts');
    await finish(operation === undefined ? await listOperations(service.url) : await callOperation(service, operation, words));
  },
});

export const showOperationHelp = async (operation: string): Promise<void> => {
  const { describeOperation } = await import('./describe-operations.ts');
  await finish(await describeOperation((await readService()).url, operation));
};
