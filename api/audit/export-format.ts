import type { z } from 'zod';
import { AuditLogRead } from '../../projections/audit/audit-log.ts';

type Line = z.output<typeof AuditLogRead>;

/** A file format of the export. `line` formats one entry from its JSON text (an AuditLogRead). */
export type AuditFormat = {
  readonly type: string;
  readonly extension: string;
  readonly head: string;
  readonly line: (text: string) => string;
};

/**
 * Matches texts that a spreadsheet would evaluate as a formula (CSV injection, see OWASP). Blanks before the formula
 * and full-width characters do not prevent this. Such a cell gets an apostrophe as prefix.
 */
const FORMULA = /^(?:[\t\r\n]|\s*[=+\-@＝＋－＠])/;

/** Formats a cell as in RFC 4180: quoted only if necessary, quotes doubled. Null becomes an empty cell. */
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

/**
 * The activities of OCSF, each with a pattern for the last word of the actions that it stands for, such as
 * `agent.created`.
 */
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
 * Formats an entry as an API Activity (class 6003) of the Open Cybersecurity Schema Framework 1.4. Fields without a
 * counterpart in OCSF go into `unmapped`.
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

/**
 * The export formats by name. Their output depends on the entries only, not on the software version or the current
 * time.
 */
export const AUDIT_FORMATS = {
  jsonl: { type: 'application/jsonl', extension: 'jsonl', head: '', line: (text) => `${text}\n` },
  csv: { type: 'text/csv; charset=utf-8', extension: 'csv', head: `${COLUMNS.join(',')}\r\n`, line: csvLine },
  ocsf: { type: 'application/vnd.ocsf+jsonl', extension: 'ocsf.jsonl', head: '', line: ocsfLine },
} as const satisfies Record<string, AuditFormat>;

export type AuditFormatName = keyof typeof AUDIT_FORMATS;
