import { guidePath } from '../../console/guides.ts';
import { type Choice, combobox, MAX_CHOICES } from '../../console/parts/combobox.ts';
import { exportLinks } from '../../console/parts/export-links.ts';
import { card } from '../../console/parts/facts.ts';
import { instantIn, localTimeOf } from '../../console/parts/local-time.ts';
import { periodOf } from '../../console/parts/period.ts';
import { exportCheck } from '../../console/parts/proof.ts';
import { copyButton } from '../../console/parts/short-id.ts';
import { type Child, tags } from '../../console/parts/tags.ts';
import type { Visit } from '../../console/visit.ts';

const { a, button, code, div, form, label, p, pre } = tags;

const VERIFY = 'node verify-audit-export.mjs audit.proofs.jsonl';

/** The query parameter with the month to export (YYYY-MM). */
const MONTH = 'month';

const monthOf = (date: string) => periodOf(new URLSearchParams({ view: 'month', date: `${date.slice(0, 7)}-01` }), date);

const dateIn = (at: string, { zone }: Visit): string => localTimeOf(at, zone).date;

/** Returns the months from a time until now, the newest first. */
const monthsSince = (at: string, visit: Visit): readonly Choice[] => {
  const first = dateIn(at, visit).slice(0, 7);
  const months: Choice[] = [];
  for (let date = dateIn(new Date().toISOString(), visit); date.slice(0, 7) >= first && months.length < MAX_CHOICES; ) {
    const { previous, title } = monthOf(date);
    months.push({ value: date.slice(0, 7), name: title });
    date = previous;
  }
  return months;
};

/** Returns the filters that select a month in the zone of the visitor; none if the text is not a month. */
const filtersOf = (month: string, { zone }: Visit): Readonly<Record<string, string>> => {
  if (!/^[1-9]\d{3}-(?:0[1-9]|1[0-2])$/.test(month)) return {};
  const { from, to } = monthOf(`${month}-01`);
  return { from: instantIn(`${from}T00:00`, zone), to: instantIn(`${to}T00:00`, zone) };
};

/** Without JavaScript, a button sends the choice of the month. */
const monthForm = (visit: Visit, since: string): Child =>
  form(
    { method: 'get', action: visit.path, class: 'filter-bar filter-fields' },
    div(
      null,
      label({ for: 'export-month' }, 'Month'),
      combobox({
        ...{ id: 'export-month', name: MONTH, what: 'month', value: visit.query.get(MONTH) ?? '', none: 'all months' },
        choices: monthsSince(since, visit),
        isSentAtOnce: true,
      }),
    ),
    div({ class: 'without-script' }, button(null, 'Show')),
  );

type Exported = {
  /** The position up to which the files reach; null if it is unknown. */
  readonly position: string | null;
  /** When the tenant was created. */
  readonly since: string;
};

/** Renders the exports of the audit log, as a whole or of one month, and the check of a file with proofs. */
export const exportCard = (visit: Visit, { position, since }: Exported): Child => {
  const tenant_id = visit.params.tenant_id!;
  return card(
    'Export',
    p({ class: 'quiet' }, 'The entries up to the position of this page; with proofs, up to the newest head. An export is itself recorded.'),
    monthForm(visit, since),
    exportLinks(tenant_id, position, filtersOf(visit.query.get(MONTH) ?? '', visit)),
    p(
      { class: 'quiet' },
      'The file with proofs can be checked here or, without this platform, by a script that ',
      a({ href: guidePath('audit') }, 'the guide'),
      ' explains. ',
      code(null, 'annals export'),
      ' also writes all signed heads.',
    ),
    div({ class: 'copyable' }, pre(null, VERIFY), copyButton(VERIFY, 'the command')),
    exportCheck(tenant_id),
  );
};
