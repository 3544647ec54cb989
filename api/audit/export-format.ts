import type { z } from 'zod';
import { AuditLogRead } from '../../projections/audit/audit-log.ts';

type Line = z.output<typeof AuditLogRead>;

/**
 * A file format of the export: its header, and a function that formats a line from the JSON text of an AuditLogRead.
 */
export type AuditFormat = {
  readonly type: string;
  readonly extension: string;
  readonly head: string;
  readonly line: (text: string) => string;
};

/**
 * What spreadsheets take for a formula (OWASP, CSV injection), also after blanks and in full-width characters; it gets
 * an apostrophe as prefix.
 */
const FORMULA = /^(?:[\t\r\n]|\s*[=+\-@＝＋－＠])/;

/** RFC 4180: quoted only if necessary, quotes doubled; null is an empty cell. */
const csvCell = (value: unknown): string => {
  if (value === null) return '';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const escaped = FORMULA.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(escaped) ? `"${escaped.replaceAll('"', '""')}"` : escaped;
};

const COLUMNS = Object.keys(AuditLogRead.shape) as (keyof Line)[];

const csvLine = (text: string): string => {
  const line = JSON.parse(text) as Line;
  return `${COLUMNS.map((name) => csvCell(line[name])).join(',')}\r\n`;
};

/** OCSF's activities, by the last word of an action. */
const ACTIVITIES: readonly (readonly [id: number, name: string, action: RegExp])[] = [
  [1, 'Create', /[._](?:accepted|added|allowed|assigned|connected|created|granted|issued|opened|registered|in)$/],
  [2, 'Read', /[._](?:disclosed|exported|read|seen|used)$/],
  [4, 'Delete', /[._](?:closed|deleted|disallowed|disconnected|released|removed|revoked|out)$/],
  [
    3,
    'Update',
    /[._](?:acknowledged|activated|changed|closing|deactivated|promoted|reopened|reordered|restored|resumed|retried|rotated|suspended|transferred|updated)$/,
  ],
];

const FAILED = /[._](?:refused|refusals_counted|rejected|rejections_counted)$/;
const CLASS = { class_uid: 6003, class_name: 'API Activity', category_uid: 6, category_name: 'Application Activity' };
const PRODUCT = { name: 'Annals', vendor_name: 'Annals' };

/**
 * Formats a line as API Activity (6003) of the Open Cybersecurity Schema Framework 1.4. Fields without an equivalent
 * are in `unmapped`.
 */
const ocsfLine = (text: string): string => {
  const { id, tenant_id, user_id, agent_id, action, resource_type, resource_id, ip, user_agent, meta, created_at, position } = JSON.parse(
    text,
  ) as Line;
  const [activity_id, activity_name] = ACTIVITIES.find(([, , ending]) => ending.test(action)) ?? [99, action];
  const event = {
    ...CLASS,
    activity_id,
    activity_name,
    type_uid: CLASS.class_uid * 100 + activity_id,
    time: Date.parse(created_at),
    severity_id: 1,
    status_id: FAILED.test(action) ? 2 : 1,
    metadata: {
      version: '1.4.0',
      product: PRODUCT,
      uid: id,
      log_name: 'audit',
      event_code: action,
      ...(tenant_id ? { tenant_uid: tenant_id } : {}),
    },
    actor: user_id ? { user: { uid: user_id, type_id: 1 } } : { app_name: PRODUCT.name },
    api: { operation: action, service: { name: PRODUCT.name } },
    src_endpoint: ip ? { ip } : { svc_name: PRODUCT.name },
    ...(user_agent ? { http_request: { user_agent } } : {}),
    resources: [{ type: resource_type, ...(resource_id ? { uid: resource_id } : {}) }],
    unmapped: { agent_id, meta, position },
  };
  return `${JSON.stringify(event)}\n`;
};

/** The export formats by name. Their bytes depend on the entries alone, not on the current version or time. */
export const AUDIT_FORMATS = {
  jsonl: { type: 'application/jsonl', extension: 'jsonl', head: '', line: (text) => `${text}\n` },
  csv: { type: 'text/csv; charset=utf-8', extension: 'csv', head: `${COLUMNS.join(',')}\r\n`, line: csvLine },
  ocsf: { type: 'application/vnd.ocsf+jsonl', extension: 'ocsf.jsonl', head: '', line: ocsfLine },
} as const satisfies Record<string, AuditFormat>;

export type AuditFormatName = keyof typeof AUDIT_FORMATS;
