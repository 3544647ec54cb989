import { setTimeout as sleep } from 'node:timers/promises';
import { listAll, readWhole } from './final-state.ts';
import { ADMIN_KEY, must, type Platform } from './platform.ts';
import type { Estate } from './tenants.ts';

const IDLE_MS = 3_000;
/** What shows the log. Other paths of operators show who keeps the views and how: that is another process after a start. */
const SHOWN = /^\/(tenant|(api\/v1\/)?admin\/(tenants|users|plans|models|api-keys|audit-logs|allowed-accounts))(\/|$)/;

/** Resolves with the log's last position when nothing has been written for some seconds: reactors and notes of use have ended. */
export const quietLog = async (platform: Platform): Promise<string> => {
  const log = platform.openLog();
  try {
    for (let [last, since] = ['', Date.now()]; ; await sleep(250)) {
      const { token } = await readWhole(log);
      if (token !== last) [last, since] = [token, Date.now()];
      else if (Date.now() - since > IDLE_MS) return token;
    }
  } finally {
    await log.close();
  }
};

type Document = { paths: Record<string, { get?: unknown }> };

/** Asking for these is itself an event. */
const NOTED = /\/audit-logs\/export$/;

/** What can stand in the place of each parameter; a path whose parameters are not among them is not asked. */
type Places = readonly { readonly key: string; readonly values: Readonly<Record<string, string>> }[];

const placesOf = async (platform: Platform, { tenants, agents, hooks }: Estate, token: string): Promise<Places> => {
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

/** The request's id, the moment at which it was asked and the month before it are the question's, not the view's. */
const withoutQuestion = (text: string): string => text.replace(/"(request_id|as_of)":"[^"]*"|"period":\{[^}]*\}/g, '');

const namesIn = (path: string): string => [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).join(' ');

const fill = (path: string, values: Readonly<Record<string, string>>): string =>
  path.replace(/\{(\w+)\}/g, (_, name: string) => values[name]!);

/** All pages of what a GET answers, as text; the view must have passed the token. */
const answerOf = async ({ call }: Platform, path: string, key: string, token: string): Promise<string> => {
  const pages: string[] = [];
  for (let next: string | undefined = path; next; ) {
    const { status, headers, text } = await call('GET', next, undefined, { key, headers: { 'consistency-token': token } });
    pages.push(`${status} ${headers.get('etag') ?? ''} ${withoutQuestion(text)}`);
    const link = /<([^>]+)>; *rel="next"/.exec(headers.get('link') ?? '')?.[1];
    next = link && new URL(link, 'http://localhost').pathname + new URL(link, 'http://localhost').search;
  }
  return pages.join('\n');
};

/** What the API answers to every GET of its own document that can be asked of an estate, whole, by path. */
export const allAnswers = async (platform: Platform, estate: Estate, token: string): Promise<Map<string, string>> => {
  const { paths } = await must<Document>(platform.call('GET', '/openapi.json'), 200);
  const places = await placesOf(platform, estate, token);
  const asked = Object.entries(paths).flatMap(([path, { get }]) => {
    if (!get || !SHOWN.test(path) || NOTED.test(path)) return [];
    const fitting = places.filter(({ values }) => Object.keys(values).join(' ') === namesIn(path));
    // A question that is refused would itself be an event.
    return fitting.map(({ key, values }) => ({ path: fill(path, values), key: path.startsWith('/tenant/') ? key : ADMIN_KEY }));
  });
  const answers = new Map<string, string>();
  for (const { path, key } of asked) answers.set(path, await answerOf(platform, path, key, token));
  return answers;
};
