import type { Context, Hono } from 'hono';
import { z } from 'zod';
import { recordAuditExport } from '../../commands/audit/audit-export.ts';
import { type Position, parseToken, tokenOf } from '../../domain/event.ts';
import { latestEntry, linesUntil } from '../../projections/audit/audit-log.queries.ts';
import { audit } from '../../projections/audit/audit-log.ts';
import type { Reads } from '../../projections/read-model.ts';
import { authorizeRequest, checkedQuery, type Runtime } from '../http/mount.ts';
import type { PlainPaths } from '../http/openapi.ts';
import { abortOnError } from '../http/stream-response.ts';
import { AUDIT_FORMATS, type AuditFormat, type AuditFormatName } from './export-format.ts';

const EXPORT = { method: 'get', path: '/tenant/:tenant_id/audit-logs/export', permit: 'tenant:audit:read' } as const;
const FORMATS = Object.keys(AUDIT_FORMATS) as [AuditFormatName, ...AuditFormatName[]];

const Query = z.strictObject({
  format: z.enum(FORMATS).default('jsonl'),
  to_position: z
    .string()
    .refine((text) => parseToken(text) !== null, 'must be a Consistency-Token')
    .optional(),
});

const NOTHING: Position = { commit: 0n, prepare: 0n };

/** The position that was asked for, once the view has come that far; else that of the tenant's newest line. @throws Refusal not_caught_up */
const positionOf = async (reads: Reads, tenant: string, asked: string | undefined): Promise<Position> => {
  if (asked === undefined) return (await latestEntry(reads, tenant))?.place ?? NOTHING;
  await reads.passed(audit.name, asked);
  return parseToken(asked)!;
};

/**
 * The bytes of an export, a page at a time and only as fast as they are taken; nothing is held open between two pages. It fails, and with
 * it the connection, where the view is behind the position at the end: it was put back meanwhile, and lines may be missing.
 */
async function* bytesOf(reads: Reads, { head, line }: AuditFormat, first: string[], rest: AsyncIterable<string[]>, until: Position) {
  yield Buffer.from(head + first.map(line).join(''));
  for await (const lines of rest) yield Buffer.from(lines.map(line).join(''));
  await reads.passed(audit.name, tokenOf(until));
}

/** Every line of a tenant's audit log up to a position: the same bytes for the same position, whenever they are asked for. */
export const mountAuditExport = (app: Hono, host: Runtime): void => {
  const enter = authorizeRequest(EXPORT, host);
  const { reads } = host;
  app.get(EXPORT.path, async (c: Context) => {
    const { asked } = await enter(c);
    const { tenant } = asked;
    const { format: name, to_position } = checkedQuery(c, Query);
    await host.readYourWrites.settled(asked.principal, [audit.name], c.req.header('consistency-token'));
    const until = await positionOf(reads, tenant, to_position);
    const position = tokenOf(until);
    const format = AUDIT_FORMATS[name];
    const headers = {
      'content-type': format.type,
      'content-disposition': `attachment; filename="audit-${tenant}-${until.commit}-${until.prepare}.${format.extension}"`,
      'consistency-token': position,
    };
    if (c.req.method === 'HEAD') return c.body(null, 200, headers);
    // What can fail does so before the answer has begun; what is handed out is on record before it goes.
    const pages = linesUntil(reads, tenant, until);
    const first = (await pages.next()).value ?? [];
    await recordAuditExport(host.context(asked), { format: name, position });
    const bytes = abortOnError(c, host, bytesOf(reads, format, first, pages, until));
    return c.body(ReadableStream.from(bytes) as never, 200, headers);
  });
};

const media = (name: AuditFormatName): string => AUDIT_FORMATS[name].type.split(';')[0]!;

/** How the export stands in the OpenAPI document. */
export const auditExportPaths: PlainPaths = {
  '/tenant/{tenant_id}/audit-logs/export': {
    get: {
      operationId: 'exportAuditLogs',
      summary: "Take the tenant's audit log with you, up to a position: the same bytes for the same position",
      description: 'Needs `tenant:audit:read`. An answer that breaks off is not whole.',
      tags: ['Audit'],
      parameters: [
        { name: 'tenant_id', in: 'path', required: true, schema: { type: 'string' } },
        { name: 'format', in: 'query', required: false, schema: { type: 'string', enum: FORMATS, default: 'jsonl' } },
        {
          name: 'to_position',
          in: 'query',
          required: false,
          description: "A Consistency-Token; without it, that of the tenant's newest line",
          schema: { type: 'string' },
        },
        { $ref: '#/components/parameters/ConsistencyToken' },
      ],
      responses: {
        200: {
          description: 'Lines in the order in which they happened',
          headers: {
            'Consistency-Token': { description: 'The position up to which the lines go', schema: { type: 'string' } },
            'Content-Disposition': { schema: { type: 'string' } },
          },
          content: {
            [media('jsonl')]: { schema: { type: 'string', description: 'One AuditLogRead a line' } },
            [media('csv')]: {
              schema: { type: 'string', description: 'RFC 4180, with a header; what looks like a formula has an apostrophe before it' },
            },
            [media('ocsf')]: { schema: { type: 'string', description: 'One OCSF API Activity (6003) a line' } },
          },
        },
        429: { $ref: '#/components/responses/RateLimited' },
        default: { $ref: '#/components/responses/Problem' },
      },
    },
  },
};
