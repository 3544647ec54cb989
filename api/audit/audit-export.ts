import type { Context, Hono } from 'hono';
import { z } from 'zod';
import { recordAuditExport } from '../../commands/audit/audit-export.ts';
import { type Position, parseToken, tokenOf } from '../../domain/event.ts';
import { entriesUntil, latestEntry } from '../../projections/audit/audit-log.queries.ts';
import { AuditLogRead, audit } from '../../projections/audit/audit-log.ts';
import type { Reads } from '../../projections/read-model.ts';
import { BEFORE_LOG } from '../http/as-of.ts';
import { authorizeRequest } from '../http/authorize-request.ts';
import { jsonContentOf } from '../http/example.ts';
import { parseQuery } from '../http/mount.ts';
import { hasFilters } from '../http/paging.ts';
import { documentPlainRoutes, mountPlainRoutes, plainRoute } from '../http/plain-route.ts';
import type { Runtime } from '../http/runtime.ts';
import { abortOnError } from '../http/stream-response.ts';
import { AuditFilters } from './audit-filters.ts';
import { AUDIT_FORMATS, type AuditFormat, type AuditFormatName } from './export-format.ts';

const EXPORT = { method: 'get', path: '/tenant/:tenant_id/audit-logs/export', permit: 'tenant:audit:read' } as const;
const FORMATS = Object.keys(AUDIT_FORMATS) as [AuditFormatName, ...AuditFormatName[]];

const Query = z.strictObject({
  format: z.enum(FORMATS).default('jsonl').meta({ description: 'The format: JSON Lines, CSV, or OCSF as JSON Lines' }),
  to_position: z
    .string()
    .refine((text) => parseToken(text) !== null, 'must be a Consistency-Token')
    .optional()
    .meta({ description: "A Consistency-Token; default: the position of the tenant's latest audit log entry" }),
  ...AuditFilters,
});

/**
 * Returns the log position up to which entries are exported: the requested one, after waiting until the projection has
 * reached it, or otherwise that of the tenant's latest entry.
 * @throws Refusal not_caught_up
 */
const exportPosition = async (reads: Reads, tenant: string, requested: string | undefined): Promise<Position> => {
  if (requested === undefined) return (await latestEntry(reads, tenant))?.position ?? BEFORE_LOG;
  await reads.passed(audit.name, requested);
  return parseToken(requested)!;
};

type ExportPages = { readonly first: readonly string[]; readonly rest: AsyncIterable<readonly string[]>; readonly until: Position };

/**
 * Yields the bytes of an export page by page, only as fast as the client reads. No query stays open between two pages.
 * If a rebuild resets the projection during the export, entries can be missing; the projection has then not reached
 * `until` at the end, and the iteration throws, which closes the connection.
 * @throws Refusal not_caught_up
 */
async function* bytesOf(reads: Reads, { head, line }: AuditFormat, { first, rest, until }: ExportPages) {
  yield Buffer.from(head + first.map(line).join(''));
  for await (const lines of rest) yield Buffer.from(lines.map(line).join(''));
  await reads.passed(audit.name, tokenOf(until));
}

const media = (name: AuditFormatName): string => AUDIT_FORMATS[name].type.split(';')[0]!;

/**
 * Creates the handler that streams the audit log entries of a tenant up to a log position. The same position and
 * filters always yield the same bytes.
 */
const exportAuditLog = (runtime: Runtime) => {
  const authorize = authorizeRequest(EXPORT, runtime);
  const { reads } = runtime;
  return async (c: Context): Promise<Response> => {
    const { info } = await authorize(c);
    const { tenant } = info;
    const { format: name, to_position, ...filter } = parseQuery(c, Query);
    await runtime.readYourWrites.waitForOwnWrites(info.principal, [audit.name], c.req.header('consistency-token'));
    const until = await exportPosition(reads, tenant, to_position);
    const position = tokenOf(until);
    const format = AUDIT_FORMATS[name];
    const headers = {
      'content-type': format.type,
      'content-disposition': `attachment; filename="audit-${tenant}-${until.commit}-${until.prepare}.${format.extension}"`,
      'consistency-token': position,
    };
    if (c.req.method === 'HEAD') return c.body(null, 200, headers);
    // Read the first page before the response starts, because an error after the first byte cannot be reported. Record
    // the export before any entry is sent.
    const pages = entriesUntil(reads, { tenant_id: tenant, until, filter });
    const first = (await pages.next()).value ?? [];
    await recordAuditExport(runtime.context(info), { format: name, position, ...(hasFilters(filter) && { filter }) });
    const bytes = abortOnError(c, runtime, bytesOf(reads, format, { first, rest: pages, until }));
    return c.body(ReadableStream.from(bytes) as never, 200, headers);
  };
};

/** Returns an export in this format with one example entry, for the OpenAPI document. */
const exampleIn = (name: AuditFormatName): string => {
  const { head, line } = AUDIT_FORMATS[name];
  return head + line(JSON.stringify(jsonContentOf(AuditLogRead, 'output', {})['application/json'].example));
};

const routes = [
  plainRoute({
    method: EXPORT.method,
    path: EXPORT.path,
    operationId: 'exportAuditLogs',
    summary: "Export the tenant's audit log up to a position",
    description:
      'Requires the permission `tenant:audit:read`. The same `to_position` and filters always yield the same bytes. If the connection breaks, the export is incomplete.',
    tag: 'Audit',
    query: Query,
    parameters: [{ $ref: '#/components/parameters/ConsistencyToken' }],
    responses: {
      200: {
        description: 'The entries in log order',
        headers: {
          'Consistency-Token': { description: 'The position of the end of the export', schema: { type: 'string' } },
          'Content-Disposition': { schema: { type: 'string' } },
        },
        content: {
          [media('jsonl')]: { schema: { type: 'string', description: 'One AuditLogRead per line' }, example: exampleIn('jsonl') },
          [media('csv')]: {
            schema: {
              type: 'string',
              description: 'RFC 4180 with a header row; an apostrophe precedes each value that a spreadsheet could take for a formula',
            },
            example: exampleIn('csv'),
          },
          [media('ocsf')]: {
            schema: {
              type: 'string',
              description:
                'One OCSF 1.4 event per line: Authentication (3002), User Access Management (3005), Group Management (3006) or API Activity (6003)',
            },
            example: exampleIn('ocsf'),
          },
        },
      },
    },
    problems: [400, 401, 403, 404, 422, 429, 503],
    handler: exportAuditLog,
  }),
];

export const mountAuditExport = (app: Hono, runtime: Runtime): void => mountPlainRoutes(app, routes, runtime);
export const auditExportPaths = documentPlainRoutes(routes);
