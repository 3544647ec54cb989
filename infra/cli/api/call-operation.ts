import { text as readText } from 'node:stream/consumers';
import { usageError } from '../arguments.ts';
import { type ApiOperation, readOperations } from './api-document.ts';
import { operationNamed } from './describe-operations.ts';
import { type ApiOptions, type ApiRequest, requestOf } from './operation-arguments.ts';
import { isTabular, tableLines } from './print-table.ts';

const RESPONSE_TIMEOUT_MS = 120_000;
const DEFAULT_WIDTH = 120;

type Service = { readonly url: string; readonly key: string | undefined };

type Problem = {
  readonly title?: string;
  readonly detail?: string;
  readonly request_id?: string;
  readonly errors?: readonly { readonly pointer: string; readonly message: string }[];
};

const send = async ({ url, key }: Service, { method, path, headers, body }: ApiRequest): Promise<Response> => {
  const init = { method, headers: { ...(key && { authorization: `Bearer ${key}` }), ...headers }, body: body ?? null };
  const signal = AbortSignal.timeout(RESPONSE_TIMEOUT_MS);
  return fetch(url + path, { ...init, redirect: 'manual', signal }).catch(({ message, cause }) => {
    throw new Error(`${url} does not answer: ${cause?.code ?? message}`);
  });
};

/** Prints a problem document to standard error, one field per line. */
const printProblem = async (response: Response): Promise<void> => {
  const text = await response.text();
  const isJson = /[/+]json\b/.test(response.headers.get('content-type') ?? '');
  const { title, detail, errors = [], request_id }: Problem = isJson ? (JSON.parse(text) as Problem) : { detail: text.slice(0, 500) };
  console.error(`${response.status} ${title ?? response.statusText}${detail ? `: ${detail}` : ''}`);
  for (const { pointer, message } of errors) console.error(`  ${pointer || '/'}: ${message}`);
  if (request_id) console.error(`  request id: ${request_id}`);
};

const printJson = (value: unknown, { output }: ApiOptions): void => {
  const isTable = output === 'table' || (output === null && process.stdout.isTTY && isTabular(value));
  const rows = isTabular(value) ? value : Object.entries(value as object).map(([field, content]) => ({ field, content }));
  if (isTable) for (const line of tableLines(rows, process.stdout.columns ?? DEFAULT_WIDTH)) console.log(line);
  else console.log(JSON.stringify(value, null, process.stdout.isTTY ? 2 : undefined));
};

const nextPage = (response: Response): string | null => /<([^>]+)>; rel="next"/.exec(response.headers.get('link') ?? '')?.[1] ?? null;

/**
 * Reads a JSON response and, with `--all`, the pages that follow it. If a page is refused, prints the problem and
 * returns undefined.
 */
const readPages = async (service: Service, first: Response, options: ApiOptions): Promise<unknown> => {
  const value: unknown = await first.json();
  if (!options.all || !Array.isArray(value)) return value;
  const items: unknown[] = [...value];
  for (let next = nextPage(first); next !== null; ) {
    const response = await send(service, { method: 'GET', path: next, headers: {} });
    if (!response.ok) {
      await printProblem(response);
      return undefined;
    }
    items.push(...((await response.json()) as unknown[]));
    next = nextPage(response);
  }
  return items;
};

const printAnswer = async (service: Service, response: Response, options: ApiOptions): Promise<number> => {
  if (response.status >= 400) {
    await printProblem(response);
    return 1;
  }
  const type = response.headers.get('content-type') ?? '';
  if (/^application\/json\b/.test(type)) {
    const value = await readPages(service, response, options);
    if (value === undefined) return 1;
    printJson(value, options);
  } else if (response.body) for await (const chunk of response.body) process.stdout.write(chunk);
  return 0;
};

const readSource = async (source: string): Promise<string> => (source === '-' ? readText(process.stdin) : source);

/** Returns the id of the first tenant of the key's user, for an operation whose arguments name no tenant. */
const firstTenant = async (service: Service): Promise<string | undefined> => {
  const response = await send(service, { method: 'GET', path: '/me', headers: {} });
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
 * Calls an operation with the fields in `words`, and prints the answer: JSON or, for a list on a terminal, a table.
 * @returns the exit code: 1 after a problem, which is printed to standard error
 * @throws a usage error, or an Error with a one-line message for the operator if the platform does not answer
 */
export const callOperation = async (service: Service, name: string, words: readonly string[]): Promise<number> => {
  const operation = operationNamed(await readOperations(service.url), name);
  const { request, options } = await requestOf(operation, await withTenant(service, operation, words), readSource);
  return printAnswer(service, await send(service, request), options);
};
