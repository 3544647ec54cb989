import { setTimeout as sleep } from 'node:timers/promises';
import { tokenOf } from '../../domain/event.ts';
import { listAll } from './final-state.ts';
import type { KillablePlatform } from './running-platform.ts';
import { ADMIN_KEY, expectReply } from './running-platform.ts';
import type { Dataset } from './tenants.ts';

const IDLE_MS = 3_000;
/**
 * Matches the paths whose responses depend only on the content of the log. The responses of other paths under /admin
 * also depend on the running processes, which differ after a restart.
 */
const READ_MODEL_PATHS = /^\/(tenant|(api\/v1\/)?admin\/(tenants|users|plans|models|api-keys|audit-logs|allowed-accounts))(\/|$)/;

/**
 * Waits until nothing was appended to the log for 3 seconds. By then, the reactors have finished, and the usage of API
 * keys is recorded. @returns the last position as a consistency token
 */
export const waitForIdleLog = async (platform: KillablePlatform): Promise<string> => {
  const log = platform.openLog();
  try {
    for (let [last, unchangedSince] = ['', Date.now()]; ; await sleep(250)) {
      const [end] = await Array.fromAsync(log.readAll({ backwards: true, limit: 1 }));
      const token = tokenOf(end!.position);
      if (token !== last) [last, unchangedSince] = [token, Date.now()];
      else if (Date.now() - unchangedSince > IDLE_MS) return token;
    }
  } finally {
    await log.close();
  }
};

type Document = { paths: Record<string, { get?: unknown }> };

/**
 * Matches paths that are left out, because a request to them appends an event to the log, or never ends (`changes`).
 */
const RECORDED_READS = /\/(?:audit-logs\/export|changes|runtime|skills\/\{skill_id\}\/config)$/;

/** Matches paths that are left out, because their responses show the current state of the message broker. */
const BROKER_READS = /\/agents\/\{agent_id\}\/runner$|\/runners$/;

/**
 * Sets of path parameters, each with an API key of the tenant. A path is requested once for each set that has exactly
 * the parameters of the path.
 */
type PathParameters = readonly { readonly key: string; readonly values: Readonly<Record<string, string>> }[];

const pathParametersOf = async (
  platform: KillablePlatform,
  { tenants, agents, hooks }: Dataset,
  token: string,
): Promise<PathParameters> => {
  const deliveries = await Promise.all(
    hooks.map(async ({ agent, id }) => {
      const rows = await listAll<{ id: string }>(
        platform,
        `/tenant/${agent.tenant.id}/webhook-integrations/${id}/deliveries`,
        agent.tenant.key,
        token,
      );
      return rows.map((row) => ({ key: agent.tenant.key, values: { tenant_id: agent.tenant.id, delivery_id: row.id } }));
    }),
  );
  return [
    { key: ADMIN_KEY, values: {} },
    ...tenants.map(({ id, key }) => ({ key, values: { tenant_id: id } })),
    ...agents.map(({ tenant, id }) => ({ key: tenant.key, values: { tenant_id: tenant.id, agent_id: id } })),
    ...hooks.map(({ agent, id }) => ({ key: agent.tenant.key, values: { tenant_id: agent.tenant.id, id } })),
    ...deliveries.flat(),
  ];
};

/**
 * Removes the parts of a response that differ for each request: the request id, the time of the request, the billing
 * period, and where a period that ends now starts.
 */
const withoutRequestFields = (text: string): string =>
  text.replace(/"(request_id|as_of)":"[^"]*"|"period":\{[^}]*\}|^\{"(?:at|from)":"[^"]*"/g, '');

const parameterNames = (path: string): string => [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).join(' ');

const fillPath = (path: string, values: Readonly<Record<string, string>>): string =>
  path.replace(/\{(\w+)\}/g, (_, name: string) => values[name]!);

/**
 * Returns all pages of the response to a GET request as one text. Each response waits until the read model has reached
 * the consistency token.
 */
const readAllPages = async ({ call }: KillablePlatform, path: string, key: string, token: string): Promise<string> => {
  const pages: string[] = [];
  for (let next: string | undefined = path; next; ) {
    const { status, headers, text } = await call('GET', next, undefined, { key, headers: { 'consistency-token': token } });
    pages.push(`${status} ${headers.get('etag') ?? ''} ${withoutRequestFields(text)}`);
    const link = /<([^>]+)>; *rel="next"/.exec(headers.get('link') ?? '')?.[1];
    next = link && new URL(link, 'http://localhost').pathname + new URL(link, 'http://localhost').search;
  }
  return pages.join('\n');
};

/**
 * Sends all GET requests of the OpenAPI document for which the dataset has path parameters. @returns the complete
 * responses by path
 */
export const readAllResponses = async (platform: KillablePlatform, dataset: Dataset, token: string): Promise<Map<string, string>> => {
  const { paths } = await expectReply<Document>(platform.call('GET', '/openapi.json'), 200);
  const parameterSets = await pathParametersOf(platform, dataset, token);
  const requests = Object.entries(paths).flatMap(([path, { get }]) => {
    if (!get || !READ_MODEL_PATHS.test(path) || RECORDED_READS.test(path) || BROKER_READS.test(path)) return [];
    const matching = parameterSets.filter(({ values }) => Object.keys(values).join(' ') === parameterNames(path));
    // Use an API key that may read the path, because a refused request would append an event to the log.
    return matching.map(({ key, values }) => ({ path: fillPath(path, values), key: path.startsWith('/tenant/') ? key : ADMIN_KEY }));
  });
  const responses = new Map<string, string>();
  for (const { path, key } of requests) responses.set(path, await readAllPages(platform, path, key, token));
  return responses;
};
