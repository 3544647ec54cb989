/** The parts of header names that are not written with one capital letter at their start. */
const SPELLINGS: Readonly<Record<string, string>> = { github: 'GitHub', pagerduty: 'PagerDuty', uuid: 'UUID' };

const spelled = (part: string): string => SPELLINGS[part] ?? part.charAt(0).toUpperCase() + part.slice(1);

/** Returns the name of a header as people write it, such as `X-GitHub-Delivery`. */
const shownHeader = (name: string): string => name.split('-').map(spelled).join('-');

/** Returns the names of headers as a list for people: `X-A, X-B or X-C`. */
export const anyHeader = (names: readonly string[]): string => {
  const shown = names.map(shownHeader);
  return shown.length < 2 ? shown.join('') : `${shown.slice(0, -1).join(', ')} or ${shown.at(-1)}`;
};
