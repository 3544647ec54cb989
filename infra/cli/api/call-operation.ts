import { buffer } from 'node:stream/consumers';
import { decodeText } from '../../../domain/text-decoder.ts';
import { usageError } from '../arguments.ts';
import { type ApiOperation, readOperations } from './api-document.ts';
import { operationNamed } from './describe-operations.ts';
import { requestOf } from './operation-arguments.ts';
import { printAnswer, type Service, sendRequest } from './print-answer.ts';
import { watchOperation } from './watch-operation.ts';

/** Returns the text, or standard input for `-`, which PowerShell can write in UTF-16. */
const readSource = async (source: string): Promise<string> =>
  source === '-' ? decodeText(await buffer(process.stdin), (fault) => usageError(`The standard input ${fault}`)) : source;

/** Returns the id of the first tenant of the key's user, for an operation whose arguments name no tenant. */
const firstTenant = async (service: Service): Promise<string | undefined> => {
  const response = await sendRequest(service, { method: 'GET', path: '/me', headers: {} });
  const { tenants = [] } = response.ok ? ((await response.json()) as { tenants?: { id: string }[] }) : {};
  return tenants.length === 1 ? tenants[0]!.id : undefined;
};

const withTenant = async (service: Service, operation: ApiOperation, words: readonly string[]): Promise<readonly string[]> => {
  const isNamed = words.some((word) => /^--tenant[-_]id(=|$)/.test(word));
  if (isNamed || !operation.path.includes('{tenant_id}')) return words;
  const tenant = await firstTenant(service);
  if (tenant === undefined) throw usageError('Name the tenant with --tenant-id');
  return [...words, '--tenant-id', tenant];
};

/**
 * Prints JSON or, for a list on a terminal, a table. Returns the exit code: 1 after a problem, printed to standard error.
 * @throws a usage error, or an Error with a one-line message for the operator if the platform does not answer
 */
export const callOperation = async (service: Service, name: string, words: readonly string[]): Promise<number> => {
  const operation = operationNamed(await readOperations(service.url), name);
  const { request, options } = await requestOf(operation, await withTenant(service, operation, words), readSource);
  if (options.watch) return watchOperation(service, operation, request, options);
  return printAnswer(service, await sendRequest(service, request), options);
};
