import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { operationsOf, plainPaths } from '../../api/areas.ts';

/** The operations that the platform must have, read from a file with one method and path on each line. */
const required = readFileSync(join(import.meta.dirname, 'operations.txt'), 'utf8')
  .trimEnd()
  .split('\n');

/**
 * Operations that the platform has in addition to the required ones: histories of more resources, documentation pages,
 * and the sign-in to the console, for example.
 */
const FURTHER = [
  'DELETE /tenant/{tenant_id}/agents/{agent_id}/credentials/{identity_id}',
  'DELETE /tenant/{tenant_id}/webhook-integrations/{id}/previous-secret',
  'DELETE /me/sign-ins',
  'DELETE /me/sign-ins/{id}',
  'DELETE /tenant/{tenant_id}/agents/{agent_id}/memory/{entry_id}',
  'GET    /',
  'GET    /docs.md',
  'GET    /llms.txt',
  'GET    /admin/health',
  'GET    /admin/models/{model_id}/diff',
  'GET    /admin/models/{model_id}/history',
  'GET    /admin/projections/{name}/rebuilds',
  'GET    /admin/projections/{name}/rebuilds/{id}/differences',
  'GET    /docs/boot.js',
  'GET    /tenant/{tenant_id}/approvals',
  'GET    /tenant/{tenant_id}/sessions/{session_id}/messages/{message_id}/approval',
  'POST   /tenant/{tenant_id}/sessions/{session_id}/messages/{message_id}/decision',
  'GET    /docs/scalar.js',
  'GET    /hooks/inbound/{integration_id}',
  'GET    /me/sign-ins',
  'GET    /problems/{type}',
  'GET    /tenant/{tenant_id}/agents/{agent_id}/budget/usage',
  'GET    /tenant/{tenant_id}/agents/{agent_id}/credentials',
  'GET    /tenant/{tenant_id}/agents/{agent_id}/memory/{entry_id}',
  'GET    /tenant/{tenant_id}/agents/{agent_id}/skills/{skill_id}/package',
  'GET    /tenant/{tenant_id}/audit-logs/facets',
  'GET    /tenant/{tenant_id}/audit-logs/keys',
  'GET    /tenant/{tenant_id}/billing/costs',
  'GET    /tenant/{tenant_id}/budgets',
  'GET    /tenant/{tenant_id}/changes',
  'GET    /tenant/{tenant_id}/cron-occurrences',
  'GET    /tenant/{tenant_id}/cron-occurrences/summary',
  'GET    /tenant/{tenant_id}/deliveries/held',
  'GET    /tenant/{tenant_id}/deliveries/problems',
  'GET    /tenant/{tenant_id}/deliveries/summary',
  'GET    /tenant/{tenant_id}/guardrails/summary',
  'POST   /tenant/{tenant_id}/cron-blackouts/impact',
  'GET    /tenant/{tenant_id}/diff',
  'GET    /tenant/{tenant_id}/effective-permissions',
  'GET    /tenant/{tenant_id}/events/{event_id}',
  'GET    /tenant/{tenant_id}/history',
  'GET    /tenant/{tenant_id}/jobs',
  'GET    /tenant/{tenant_id}/agents/activity',
  'GET    /tenant/{tenant_id}/agents/summary',
  'GET    /tenant/{tenant_id}/overview',
  'GET    /tenant/{tenant_id}/overview/counts',
  'GET    /tenant/{tenant_id}/runners',
  'GET    /tenant/{tenant_id}/sessions',
  'GET    /tenant/{tenant_id}/skills/{skill_id}/diff',
  'GET    /tenant/{tenant_id}/skills/{skill_id}/history',
  'GET    /tenant/{tenant_id}/tools/{tool_id}/diff',
  'GET    /tenant/{tenant_id}/tools/{tool_id}/history',
  'POST   /auth/key',
  'GET    /invitations/accept',
  'POST   /invitations/preview',
  'POST   /auth/link',
  'GET    /tenant/{tenant_id}/agents/{agent_id}/settled-messages',
  'POST   /tenant/{tenant_id}/sessions/{session_id}/continue',
  'PUT    /tenant/{tenant_id}/sessions/{session_id}/draft',
  'GET    /tenant/{tenant_id}/sessions/{session_id}/draft',
  'POST   /tenant/{tenant_id}/sessions/{session_id}/interrupt',
  'POST   /tenant/{tenant_id}/deliveries/{delivery_id}/attempts',
  'POST   /tenant/{tenant_id}/agents/{agent_id}/memory',
  'POST   /tenant/{tenant_id}/agents/{agent_id}/memory/forget',
  'POST   /tenant/{tenant_id}/deliveries/replay',
  'POST   /tenant/{tenant_id}/deliveries/{delivery_id}/release',
  'POST   /tenant/{tenant_id}/effective-permissions/preview',
  'PUT    /tenant/{tenant_id}/agents/{agent_id}/credentials/{identity_id}',
  'GET    /tenant/{tenant_id}/members/{user_id}',
  'GET    /tenant/{tenant_id}/members/activity',
  'PATCH  /tenant/{tenant_id}/api-keys/{id}',
];

const lineOf = (method: string, path: string): string => `${method.toUpperCase().padEnd(6)} ${path.replace(/:(\w+)/g, '{$1}')}`;

/** Removes the names of the path parameters from an operation's path, because callers never send these names. */
const shapeOf = (line: string): string => line.replace(/\{\w+\}/g, '{}');

const operations = Object.values(operationsOf({} as Parameters<typeof operationsOf>[0]));
const existing = [
  ...operations.map(({ method, path }) => lineOf(method, path)),
  ...Object.entries(plainPaths).flatMap(([path, methods]) => Object.keys(methods).map((method) => lineOf(method, path))),
];
const shapes = new Set(existing.map(shapeOf));
const knownShapes = new Set([...required, ...FURTHER].map(shapeOf));

test('the list of required operations contains no operation twice', () => {
  assert.ok(required.length > 200);
  assert.is(new Set(required).size, required.length);
});

test('the OpenAPI document has every operation of the list of required operations', () =>
  assert.equal(
    required.filter((line) => !shapes.has(shapeOf(line))),
    [],
  ));

test('every operation is in the list of required operations or in the list of additional ones', () =>
  assert.equal(
    existing.filter((line) => !knownShapes.has(shapeOf(line))),
    [],
  ));

test.run();
