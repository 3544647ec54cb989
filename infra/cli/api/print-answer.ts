import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { parseForDisplay } from '../../../domain/bodies/json-values.ts';
import { problemLines } from '../../../domain/refusal.ts';
import { printErrorLine, printLine } from '../../logging/print-line.ts';
import type { ApiOptions, ApiRequest } from './operation-arguments.ts';
import { isTabular, tableOf } from './print-table.ts';

const RESPONSE_TIMEOUT_MS = 120_000;
const DEFAULT_WIDTH = 120;

export type Service = { readonly url: string; readonly key: string | undefined };

type Problem = {
  readonly title?: string;
  readonly detail?: string;
  readonly request_id?: string;
  readonly errors?: readonly { readonly pointer: string; readonly message: string }[];
};

/** A stream passes its own `signal`, because it has no end. @throws Error of one line if nothing answers */
export const sendRequest = async (
  { url, key }: Service,
  { method, path, headers, body }: ApiRequest,
  signal: AbortSignal = AbortSignal.timeout(RESPONSE_TIMEOUT_MS),
): Promise<Response> => {
  const init = { method, headers: { ...(key && { authorization: `Bearer ${key}` }), ...headers }, body: body ?? null };
  return fetch(url + path, { ...init, redirect: 'manual', signal }).catch(({ message, cause }) => {
    throw new Error(`${url} does not answer: ${cause?.code ?? message}`);
  });
};

/** Prints a problem document to standard error, one fact per line. */
export const printProblem = async (response: Response): Promise<void> => {
  const text = await response.text();
  const isJson = /[/+]json\b/.test(response.headers.get('content-type') ?? '');
  const { title, detail = '', errors, request_id }: Problem = isJson ? (JSON.parse(text) as Problem) : { detail: text.slice(0, 500) };
  const [told, ...faults] = problemLines(detail, errors);
  printErrorLine(`${response.status} ${title ?? response.statusText}${told === '' ? '' : `: ${told}`}`);
  for (const fault of faults) printErrorLine(`  ${fault}`);
  if (request_id) printErrorLine(`  request id: ${request_id}`);
};

/** Prints JSON or, if it is wanted or the answer is a list on a terminal, a table. */
export const printJson = (value: unknown, { output, columns, watch }: ApiOptions): void => {
  const isTable = output === 'table' || columns !== null || (output === null && process.stdout.isTTY && isTabular(value));
  const rows = isTabular(value) ? value : Object.entries(value ?? {}).map(([field, content]) => ({ field, content }));
  if (isTable) {
    const { lines, hidden } = tableOf(rows, { width: process.stdout.columns ?? DEFAULT_WIDTH, names: columns });
    for (const line of lines) printLine(line);
    if (hidden.length > 0 && process.stdout.isTTY && !watch) printErrorLine(`not shown: ${hidden.join(', ')} (choose with --columns a,b)`);
  } else for (const line of JSON.stringify(value, null, process.stdout.isTTY ? 2 : undefined).split('\n')) printLine(line);
};

const nextPage = (response: Response): string | null => /<([^>]+)>; rel="next"/.exec(response.headers.get('link') ?? '')?.[1] ?? null;

/** With `--all`, also reads the following pages. If a page is refused, prints the problem and returns undefined. */
export const readPages = async (service: Service, first: Response, options: ApiOptions): Promise<unknown> => {
  const value = parseForDisplay(await first.text());
  if (!options.all || !Array.isArray(value)) return value;
  const items: unknown[] = [...value];
  for (let next = nextPage(first); next !== null; ) {
    const response = await sendRequest(service, { method: 'GET', path: next, headers: {} });
    if (!response.ok) {
      await printProblem(response);
      return undefined;
    }
    items.push(...(parseForDisplay(await response.text()) as unknown[]));
    next = nextPage(response);
  }
  return items;
};

/** Prints the lines of a text as they arrive. Refuses other contents, which could control the terminal. */
const printOnTerminal = async (response: Response, type: string): Promise<number> => {
  if (!/^(text\/|application\/([\w.+-]*[+-])?(json|ndjson|yaml|xml)\b)/.test(type)) {
    await response.body?.cancel();
    printErrorLine(`the answer is ${type || 'of an unknown type'}, not text: redirect it to a file, as in annals api … > FILE`);
    return 1;
  }
  const lines = createInterface({ input: Readable.fromWeb(response.body as ReadableStream), crlfDelay: Number.POSITIVE_INFINITY });
  for await (const line of lines) printLine(line);
  return 0;
};

/** Returns the exit code: 1 after a problem. */
export const printAnswer = async (service: Service, response: Response, options: ApiOptions): Promise<number> => {
  if (response.status >= 400) {
    await printProblem(response);
    return 1;
  }
  const type = response.headers.get('content-type') ?? '';
  if (/^application\/json\b/.test(type)) {
    const value = await readPages(service, response, options);
    if (value === undefined) return 1;
    printJson(value, options);
    return 0;
  }
  if (process.stdout.isTTY) return printOnTerminal(response, type);
  for await (const chunk of response.body ?? []) process.stdout.write(chunk);
  return 0;
};
