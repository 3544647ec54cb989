import { icon } from './icon.ts';
import { type Child, tags } from './tags.ts';

const { a, div, span } = tags;

/** The formats of an export, each with its purpose. */
const FORMATS = [
  ['jsonl', 'JSON, one entry per line'],
  ['csv', 'CSV, for spreadsheets'],
  ['ocsf', 'OCSF, for security tools'],
  ['proofs', 'Events with proofs and signed heads, which can be verified without this platform'],
] as const;

/**
 * Renders links that export the entries of an audit log up to a position, with these filters. Each link always yields
 * the same bytes.
 */
export const exportLinks = (tenant_id: string, position: string | null, filters: Readonly<Record<string, string>> = {}): Child =>
  div(
    { class: 'actions', 'data-export': position ?? '' },
    ...FORMATS.map(([format, what]) => {
      const query = new URLSearchParams({
        format,
        ...(format === 'csv' ? { bom: 'true' } : {}),
        ...(position ? { to_position: position } : {}),
        ...filters,
      });
      return a(
        {
          class: 'button',
          href: `/tenant/${tenant_id}/audit-logs/export?${query}`,
          title: what,
          download: `audit-${tenant_id}.${format === 'proofs' ? 'proofs.jsonl' : format}`,
        },
        icon('download'),
        span(null, format),
      );
    }),
  );
