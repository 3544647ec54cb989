import { type CorpusMail, message, part, single, utf8 } from './corpus-mail.ts';

const shown = (name: string, source: string, html: string, text: string): CorpusMail => ({
  ...{ name, source, mail: single(['Content-Type: text/html; charset=utf-8'], html), html: `${html.replaceAll('\r\n', '\n')}\n`, text },
});
const plain = (text: string): string => part(['Content-Type: text/plain'], text);
const html = (text: string): string => part(['Content-Type: text/html'], text);

/** Messages in HTML: their text has the words as a mail program shows them. */
export const HTML_MAILS: readonly CorpusMail[] = [
  shown('words in bold', 'business mail', '<p>Please restart <b>server 7</b>.</p>', 'Please restart server 7.'),
  {
    ...{ name: 'a blank plain form', source: 'newsletter programs' },
    mail: message('alternative', plain(' \r\n\r\n'), html('<p>Please restart <b>server 7</b>.</p>')),
    text: 'Please restart server 7.',
  },
  {
    ...{ name: 'a plain form of characters that are not shown', source: 'newsletter programs' },
    mail: message(
      'alternative',
      part(['Content-Type: text/plain; charset=utf-8'], utf8('\u200b\u00a0\u034f\u00ad\ufeff')),
      html('<p>Please restart <b>server 7</b>.</p>'),
    ),
    text: 'Please restart server 7.',
  },
  {
    ...{ name: 'a blank text beside HTML', source: 'Apple Mail' },
    mail: message('mixed', plain(' '), html('<p>one</p>'), plain(''), html('<p>two</p>')),
    ...{ text: 'one\n\ntwo', html: '<p>one</p>\n<p>two</p>' },
  },
  {
    ...{ name: 'a plain form with words', source: 'RFC 2046 5.1.4' },
    mail: message('alternative', plain('plain words'), html('<p>other words</p>')),
    ...{ text: 'plain words', html: '<p>other words</p>' },
  },
  {
    ...{ name: 'a plain text, and then HTML', source: 'disclaimers that Exchange adds' },
    mail: message('mixed', plain('one <1>'), html('<p>two</p>')),
    ...{ text: 'one <1>\n\ntwo', html: '<div style="white-space: pre-wrap">one &lt;1&gt;</div>\n<p>two</p>' },
  },
  shown('line breaks', 'HTML 4.5.27', 'a<br>b<br/><br />c', 'a\nb\n\nc'),
  shown('paragraphs', 'HTML 15.3.3', '<p>a</p>\r\n<p>b</p><h1>c</h1>d', 'a\n\nb\n\nc\n\nd'),
  shown('lines of Gmail', 'Gmail', '<div dir="ltr">a<div><br></div><div>b</div></div>', 'a\n\nb'),
  shown(
    'lines of Outlook',
    'Outlook',
    '<p class=MsoNormal>a<o:p></o:p></p><p class=MsoNormal><o:p>&nbsp;</o:p></p><p class=MsoNormal>b</p>',
    'a\n\nb',
  ),
  shown('a list', 'HTML 4.4.6', '<ul><li>One</li><li>Two<ul><li>In</ul></ul>after', '* One\n* Two\n  * In\n\nafter'),
  shown('a numbered list', 'HTML 4.4.5', '<ol start="3"><li>x<li value=7>y<li>z</ol>', '3. x\n7. y\n8. z'),
  shown('terms', 'HTML 4.4.9', '<dl><dt>T<dd>D</dl>', 'T\n  D'),
  shown(
    'a link',
    'HTML 4.5.1',
    'See <a href="https://example.com/x?a=1&amp;b=2">the page</a>.',
    'See the page <https://example.com/x?a=1&b=2>.',
  ),
  shown(
    'links whose text is their address',
    'automatic links',
    '<a href="https://example.com/">example.com</a> <a href="mailto:a@example.com">a@example.com</a>',
    'example.com a@example.com',
  ),
  shown('links that lead nowhere', 'hostile mail', '<a href="#x">a</a> <a href="javascript:alert(1)">b</a> <a>c</a>', 'a b c'),
  shown(
    'entities',
    'HTML 13.5',
    '&lt;tag&gt; &amp; &euro; &#8364; &#x20AC; &copy &hellip; &#150; 3 < 4 AT&T',
    '<tag> & € € € © … – 3 < 4 AT&T',
  ),
  shown('spaces that do not break', 'HTML 13.5', 'a&nbsp;&nbsp;b &nbsp;c', 'a  b  c'),
  shown('a table', 'HTML 4.9', '<table><tr><th>Name<th>Number<tr><td>Bolt</td><td>4</td></tr></table>x', 'Name\tNumber\nBolt\t4\nx'),
  shown(
    'a table for the layout',
    'newsletter programs',
    '<table><tr><td><table><tr><td><p>a</p></td></tr></table></td><td>b</td></tr></table>',
    'a\n\nb',
  ),
  shown(
    'hidden texts',
    'preheaders of newsletters',
    '<div style="display:none;max-height:0">no<div>no</div></div><span style="FONT-SIZE: 0px">no</span><p hidden>no</p><div style="max-height:0;overflow:hidden">no</div><b style="visibility: hidden !important">no</b>yes',
    'yes',
  ),
  shown(
    'hidden by a style sheet',
    'newsletter programs',
    '<style>.pre, td#x { display: none } @media print { .y { display:none } }</style><p class="a pre">no</p><p class=y>yes</p>',
    'yes',
  ),
  shown(
    'what is no text',
    'HTML 13.2',
    '<!DOCTYPE html><html><head><title>no</title><style>p{}</style></head><body><!-- no --><script>no<b></script>yes<![if !mso]>1<![endif]><!--[if mso]>no<![endif]--></body></html>',
    'yes1',
  ),
  shown(
    'text with its own lines',
    'HTML 4.4.3',
    '<pre>\r\n a\r\n   b</pre><div style="white-space:pre-wrap">c\r\n  d</div>',
    ' a\n   b\n\nc\n  d',
  ),
  shown(
    'pictures',
    'HTML 4.8.3',
    '<img src=x alt="Logo > 1"> a <img src=y alt=""><a href="https://example.com/1"><img src=z alt="Buy"></a>',
    '[Logo > 1] a [Buy] <https://example.com/1>',
  ),
  shown(
    'a quotation',
    'Apple Mail, Gmail',
    'reply<blockquote type="cite">a<blockquote>b</blockquote></blockquote>',
    'reply\n\n> a\n>\n> > b',
  ),
  shown('white space', 'CSS Text 4.1', '<p>\r\n  one\r\n  two   three </p>\r\n', 'one two three'),
  shown(
    'a word in several elements',
    'the words that guardrails must see',
    '4111<b>1111</b><i>1111</i><span>1111</span>',
    '4111111111111111',
  ),
  shown('characters that are not shown', 'hyphenation', 'soft&shy;hyphen zero&#8203;width', 'softhyphen zerowidth'),
  shown('elements that do not end', 'broken mailing programs', '<div><p>a<p>b<div>c<b>d', 'a\n\nb\n\ncd'),
  shown('a rule', 'HTML 4.4.2', 'a<hr>b', 'a\n---\nb'),
  // MJML, mj-section and mj-column: https://documentation.mjml.io
  shown(
    'words in containers without a size',
    'MJML',
    '<td style="direction:ltr;font-size:0px;padding:20px 0;"><div style="font-size:0px;"><table><tr><td style="font-size:0px;"><a href="https://a.example"><img alt="Logo"></a><div style="font-family:Arial;font-size:13px;">Hello</div></td></tr></table></div></td>',
    '[Logo] <https://a.example>\nHello',
  ),
  shown(
    'a size that a style sheet or the short form sets again',
    'inline blocks in newsletters without gaps',
    '<style>.col{font-size:0} .t, td p{font-size:14px}</style><div class="col">no<b class="t">one</b></div><td style="font-size:0">no<p>two</p></td><div style="font:0/0 a">no<i style="font: italic bold 12px/30px Georgia">three</i></div>',
    'one\n\ntwo\n\nthree',
  ),
  shown('a size of a part of nothing', 'CSS Fonts 4, 2.5', '<div style="font-size:0">no<b style="font-size:2em">no</b></div>yes', 'yes'),
  shown(
    'visible within invisible',
    'CSS Display 4, 4.1',
    '<div style="visibility:hidden">no<b style="visibility:visible">yes</b><img alt="no"></div>',
    'yes',
  ),
  shown(
    'visible within what a style sheet makes invisible',
    'CSS Display 4, 4.1',
    '<style>.v{visibility:hidden}</style><div class="v">no<b style="visibility:visible">yes</b><img alt="no"></div>',
    'yes',
  ),
  shown('only a picture', 'newsletter programs', '<img src="x">', ''),
];
