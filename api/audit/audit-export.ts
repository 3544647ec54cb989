import type { Context } from 'hono';
import { z } from 'zod';
import { recordAuditExport } from '../../commands/audit/audit-export.ts';
import { type Position, parseToken, tokenOf } from '../../domain/event.ts';
import { invalid } from '../../domain/refusal.ts';
import { type AuditFilter, entriesUntil, latestEntry } from '../../projections/audit/audit-log.queries.ts';
import { AuditLogRead, audit } from '../../projections/audit/audit-log.ts';
import type { Reads } from '../../projections/read-model.ts';
import { BEFORE_LOG } from '../http/as-of.ts';
import { authorizeRequest } from '../http/authorize-request.ts';
import { jsonContentOf } from '../http/example.ts';
import { parseQuery } from '../http/mount.ts';
import type { Ctx } from '../http/operation.ts';
import { Flag, hasFilters } from '../http/paging.ts';
import { plainRoute, plainRoutes } from '../http/plain-route.ts';
import type { Runtime } from '../http/runtime.ts';
import { abortOnError } from '../http/stream-response.ts';
import { TenantAuditFilters, withSubject } from './audit-filters.ts';
import { AUDIT_FORMATS, type AuditFormat, type AuditFormatName } from './export-format.ts';
import { provablePosition, provenSelection } from './proof-export.ts';

const EXPORT = { method: 'get', path: '/tenant/:tenant_id/audit-logs/export', permit: 'tenant:audit:read' } as const;
const FORMATS = Object.keys(AUDIT_FORMATS) as [AuditFormatName, ...AuditFormatName[]];
/** The format of files that can be verified without the platform. */
const PROOFS = { type: 'application/vnd.annals.export+jsonl', extension: 'proofs.jsonl' };

const Query = z.strictObject({
  format: z
    .enum([...FORMATS, 'proofs'])
    .default('jsonl')
    .meta({
      description:
        'The format: JSON Lines, CSV, OCSF as JSON Lines, or the events with their proofs and signed heads, which `annals verify --audit` verifies',
    }),
  to_position: z
    .string()
    .refine((text) => parseToken(text) !== null, 'must be a Consistency-Token')
    .optional()
    .meta({ description: "A Consistency-Token; default: the position of the tenant's latest audit log entry" }),
  bom: Flag.optional().meta({
    description: 'Whether the CSV starts with a byte order mark, by which Excel recognises UTF-8; default: false',
    examples: ['true'],
  }),
  ...TenantAuditFilters,
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
async function* bytesOf(reads: Reads, { head, line }: Pick<AuditFormat, 'head' | 'line'>, { first, rest, until }: ExportPages) {
  yield Buffer.from(head + first.map(line).join(''));
  for await (const lines of rest) yield Buffer.from(lines.map(line).join(''));
  await reads.passed(audit.name, tokenOf(until));
}

const media = (name: AuditFormatName): string => AUDIT_FORMATS[name].type.split(';')[0]!;

/** Yields the parts of a file with proofs as bytes, after the first part. The end is checked as that of other formats. */
async function* provenBytes(reads: Reads, first: string, rest: AsyncIterable<string>, until: Position) {
  yield Buffer.from(first);
  for await (const part of rest) yield Buffer.from(part);
  await reads.passed(audit.name, tokenOf(until));
}

type Selection = { readonly until: Position; readonly filter: AuditFilter; readonly bom: boolean };
const BOM = '\ufeff';

/**
 * Starts an export in this format. The first page is read before the response starts, because an error after the first
 * byte cannot be reported.
 */
const startExport = async (ctx: Ctx, name: z.output<typeof Query>['format'], { until, filter, bom }: Selection) => {
  if (name === 'proofs') {
    const parts = provenSelection(ctx, { until, filter });
    return provenBytes(ctx.reads, (await parts.next()).value as string, parts, until);
  }
  const pages = entriesUntil(ctx.reads, { tenant_id: ctx.tenant, until, filter });
  const first = (await pages.next()).value ?? [];
  const { head, line } = AUDIT_FORMATS[name];
  return bytesOf(ctx.reads, { head: bom ? BOM + head : head, line }, { first, rest: pages, until });
};

/**
 * Creates the handler that streams the audit log entries of a tenant up to a log position. The same position and
 * filters always yield the same bytes, except with proofs: a later file can have more keys.
 */
const exportAuditLog = ({ runtime }: { readonly runtime: Runtime }) => {
  const authorize = authorizeRequest(EXPORT, runtime);
  const { reads } = runtime;
  return async (c: Context): Promise<Response> => {
    const { info } = await authorize(c);
    const ctx = runtime.context(info);
    const { tenant } = info;
    const { format: name, to_position, bom = false, ...asked } = parseQuery(c, Query);
    if (bom && name !== 'csv') throw invalid('/query/bom', 'is only for format=csv');
    await runtime.readYourWrites.waitForOwnWrites(info.principal, [audit.name], c.req.header('consistency-token'));
    const requested = await exportPosition(reads, tenant, to_position);
    const until = name === 'proofs' ? await provablePosition(ctx, requested) : requested;
    const position = tokenOf(until);
    const format = name === 'proofs' ? PROOFS : AUDIT_FORMATS[name];
    const headers = {
      'content-type': format.type,
      'content-disposition': `attachment; filename="audit-${tenant}-${until.commit}-${until.prepare}.${format.extension}"`,
      'consistency-token': position,
    };
    if (c.req.method === 'HEAD') return c.body(null, 200, headers);
    const filter = await withSubject(ctx, asked);
    const bytes = await startExport(ctx, name, { until, filter, bom });
    // The export is recorded before any entry is sent.
    await recordAuditExport(ctx, { format: name, position, ...(hasFilters(asked) && { filter: asked }) });
    return c.body(ReadableStream.from(abortOnError(c, runtime, bytes)), 200, headers);
  };
};

/** Returns an export in this format with one example entry, for the OpenAPI document. */
const exampleIn = (name: AuditFormatName): string => {
  const { head, line } = AUDIT_FORMATS[name];
  return head + line(JSON.stringify(jsonContentOf(AuditLogRead, 'output', {})['application/json'].example));
};

export const auditExport = plainRoutes([
  plainRoute({
    method: EXPORT.method,
    path: EXPORT.path,
    operationId: 'exportAuditLogs',
    summary: "Export the tenant's audit log up to a position",
    description:
      'Requires the permission `tenant:audit:read`. The same `to_position` and filters always yield the same bytes, except with proofs. If the connection breaks, the export is incomplete.',
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
              description:
                'RFC 4180 with a header row and every cell in quotes. An apostrophe precedes each text, and each part of a text after a comma, semicolon, bar, tab or line break, that begins with = + - @ after any quotes, apostrophes and blanks, and each text that begins with a tab or line break: remove it to get the text',
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
          [PROOFS.type]: {
            schema: {
              type: 'string',
              description:
                'A manifest, the public keys, and each event with its inclusion proof after the signed head that covers it. It ends with the newest head',
            },
            example: '{"line":1,"digest":"47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU","manifest":{"format":"annals export v2"}}\n',
          },
        },
      },
    },
    problems: [400, 401, 403, 404, 422, 429, 503],
    handler: exportAuditLog,
  }),
]);
