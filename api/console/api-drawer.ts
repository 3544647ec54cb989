import type { Call } from '../http/ask.ts';
import { counted } from './parts/count-text.ts';
import { icon } from './parts/icon.ts';
import { copyButton } from './parts/short-id.ts';
import { tags } from './parts/tags.ts';
import { duration } from './parts/time.ts';
import { withoutSecrets } from './secret-names.ts';
import type { Visit } from './visit.ts';

const { details, summary, ul, li, code, span, pre, div, a, p } = tags;

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** Returns the name of a header as documents write it, such as If-Match. */
const headerName = (name: string): string => name.replace(/(?<![a-z])[a-z]/g, (letter) => letter.toUpperCase());

/** Returns a call as a shell command. In place of the credential, it contains the name of a shell variable. */
export const curlOf = (origin: string, { method, path, body, headers }: Call): string =>
  [
    `curl ${method === 'GET' ? '' : `-X ${method} `}${quoted(`${origin}${path}`)}`,
    `-H "Authorization: Bearer $ANNALS_KEY"`,
    ...Object.entries(headers).map(([name, value]) => `-H ${quoted(`${headerName(name)}: ${value}`)}`),
    ...(body === undefined ? [] : [`-H 'Content-Type: application/json'`, `-d ${quoted(withoutSecrets(path, body))}`]),
  ].join(' \\\n  ');

/** Lists the API calls from which the page was made, each with its duration and as a shell command. */
export const apiDrawer = ({ calls, origin }: Visit) =>
  details(
    { class: 'drawer' },
    summary(null, icon('square-terminal'), span(null, `Made from ${counted(calls.length, 'API call')}`)),
    div(
      { class: 'drawer-body' },
      p({ class: 'quiet' }, 'This page shows what these calls return. ', a({ href: '/docs' }, 'API reference')),
      ul(
        null,
        ...calls.map((call) =>
          li(
            null,
            div(
              { class: 'row' },
              code(null, call.method),
              code({ class: 'grow' }, call.path),
              span({ class: 'quiet' }, duration(call.milliseconds)),
            ),
            div({ class: 'copyable' }, pre(null, curlOf(origin, call)), copyButton(curlOf(origin, call), 'the command')),
          ),
        ),
      ),
    ),
  );
