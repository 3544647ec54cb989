import type { Answer } from '../fixtures/test-platform.ts';
import type { Dataset } from './dataset.ts';
import { hasOnlyAgentRoles, OTHER_TENANT_PRINCIPALS, type PrincipalName, seesNoAgent, seesPrivateSkills } from './expected-access.ts';
import type { Call } from './id-positions.ts';
import { idFor, isInTenant, sentIds, type Variant } from './probe.ts';

/** Response headers that depend on the request or on the end of the log, but not on the resource. */
const VARYING_HEADERS = ['x-request-id', 'ratelimit', 'ratelimit-policy', 'projection-position', 'projection-lag'];
/**
 * Response headers that differ for each export of the audit log: an export is recorded in the log, so the next export
 * ends at a later position.
 */
const HEADERS_OF_EXPORTS = ['consistency-token', 'content-disposition'];

const withoutSentIds = (dataset: Dataset, call: Call, variant: Variant, text: string): string =>
  sentIds(call, variant).reduce((rest, { position, state }) => rest.replaceAll(idFor(dataset, position, state), ''), text);

/** Actions of audit log entries that only repeat what the caller has sent. */
const ECHOED_ACTIONS = ['access.refused', 'super_admin.read', 'audit.exported'];

const withoutEchoes = ({ body, text, headers }: Answer): string => {
  const isLines = headers.get('content-type') === 'application/jsonl';
  const items = isLines ? text.split('\n').flatMap((line) => (line ? [JSON.parse(line)] : [])) : body;
  return Array.isArray(items)
    ? JSON.stringify(items.filter(({ action }: { action?: string }) => !ECHOED_ACTIONS.includes(action ?? '')))
    : text;
};

/** Returns whether the path of the request contains the id of the caller's own agent. */
const isAboutOwnAgent = (call: Call, variant: Variant): boolean =>
  sentIds(call, variant).some(({ position, state }) => position.type === 'agent' && position.in === 'path' && state === 'own');

/**
 * Returns the texts in a response that belong to data which the caller may not see, or to another agent. Ids that the
 * caller sent are ignored.
 */
export const leakedMarks = (dataset: Dataset, call: Call, variant: Variant, who: PrincipalName, answer: Answer): string[] => {
  if (!isInTenant(call) && call.path !== '/me') return [];
  const { suspended, closed } = dataset.inactive;
  const others = [
    ...(OTHER_TENANT_PRINCIPALS.includes(who) ? dataset.marks.home : dataset.marks.away),
    closed,
    ...(who === 'signed in' ? [] : [suspended]),
    ...(call.path === '/me' || call.operationId === 'exportAuditLogs' ? [] : [dataset.hidden.model!]),
    ...(hasOnlyAgentRoles(who) ? [dataset.hidden.agent!] : []),
    ...(isAboutOwnAgent(call, variant) ? Object.values(dataset.sibling) : []),
    ...(seesPrivateSkills(who) || /\/(audit-logs|events)(\/|$)/.test(call.path) ? [] : [dataset.hidden.skill!]),
    ...(seesNoAgent(who) && call.operationId === 'listAgents' ? [dataset.own.agent!] : []),
  ];
  const shown = withoutSentIds(dataset, call, variant, withoutEchoes(answer));
  return others.filter((mark) => shown.includes(mark));
};

/**
 * Returns everything that a caller can observe in a response, as a text. Parts that only repeat the request are left
 * out: the request id, the path, and the ids that were sent.
 */
export const observableParts = (dataset: Dataset, call: Call, variant: Variant, answer: Answer): string => {
  const { status, headers } = answer;
  const varying = call.operationId === 'exportAuditLogs' ? [...VARYING_HEADERS, ...HEADERS_OF_EXPORTS] : VARYING_HEADERS;
  const shown = [...headers].filter(([name]) => !varying.includes(name));
  const text = call.operationId === 'exportAuditLogs' ? withoutEchoes(answer) : answer.text;
  return JSON.stringify([
    status,
    shown,
    withoutSentIds(dataset, call, variant, text).replace(/"(request_id|instance|as_of)":"[^"]*"/g, '"$1":""'),
  ]);
};
