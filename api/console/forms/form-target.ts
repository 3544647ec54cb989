import { expandPath } from '../../http/expand-path.ts';
import type { Operation } from '../../http/operation.ts';
import type { Page } from '../page.ts';

const pagePattern = ({ path }: Page): RegExp => new RegExp(`^${path.replaceAll(/:[a-z_]+/g, '[^/]+')}$`);

/** The parts of API paths that have another name in the console, with that name. */
const CONSOLE_NAMES: Readonly<Record<string, string>> = {
  'webhook-integrations': 'integrations',
  'runner-keys': 'runner',
  'cron-blackouts': 'schedules',
  'redaction-patterns': 'guardrails',
  'agent-role-permissions': 'access',
};

/** Converts the API path of a resource to the path of its console page. */
const inConsole = (path: string): string =>
  path.startsWith('/tenant/')
    ? `/console/t/${path
        .slice('/tenant/'.length)
        .split('/')
        .map((part) => CONSOLE_NAMES[part] ?? part)
        .join('/')}`
    : `/console/platform${path.replace(/^\/(?:api\/v1\/)?admin/, '')}`;

const encoded = (params: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(params).map(([name, value]) => [name, encodeURIComponent(value)]));

/**
 * Returns the console page that shows the result of a change. This is the page of the resource in the response or, if
 * there is none, the nearest existing page above it.
 */
export const resultPath = (
  row: Operation,
  pages: readonly Page[],
  { params, reply }: { readonly params: Readonly<Record<string, string>>; readonly reply: unknown },
): string => {
  const path = expandPath(row.location ?? row.path, encoded(params), (reply ?? {}) as object);
  const patterns = pages.map(pagePattern);
  const segments = inConsole(path).split('/');
  // A deleted resource no longer has a page.
  if (row.method === 'delete') segments.pop();
  for (; segments.length > 2; segments.pop()) if (patterns.some((pattern) => pattern.test(segments.join('/')))) return segments.join('/');
  return params.tenant_id ? `/console/t/${params.tenant_id}` : '/console';
};

/** Returns the page of the job that a change has started; null if it has started none, such as a dry run. */
export const jobPath = (
  { status, reply: schema }: Pick<Operation, 'status' | 'reply'>,
  { tenant_id }: Readonly<Record<string, string>>,
  reply: unknown,
): string | null => {
  const isJob = ['Job', 'RequestedJob'].includes(schema?.meta()?.id ?? '');
  const { id } = (reply ?? {}) as { readonly id?: string | null };
  return status === 202 && isJob && tenant_id && id ? `/console/t/${tenant_id}/jobs/${id}` : null;
};

/**
 * Adds the consistency token of a change to the path of a page. The page then waits until its data contain the change.
 */
export const afterToken = (path: string, token: string | null): string => {
  if (token === null) return path;
  const [address = '', fragment] = path.split('#');
  const [page = '', query = ''] = address.split('?');
  const next = new URLSearchParams(query);
  next.set('after', token);
  return `${page}?${String(next).replaceAll('%3A', ':')}${fragment === undefined ? '' : `#${fragment}`}`;
};
