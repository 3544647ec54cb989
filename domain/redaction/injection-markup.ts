import type { InjectionPattern } from './injection-words.ts';

const between = '[^\\S\\n]{0,3}';

/** Matched against the original text with its markup, not the normal form. */
export const MARKUP_PATTERNS: readonly InjectionPattern[] = [
  {
    name: 'role_markup',
    pattern:
      /<\|{1,2}(?:im_start|im_end|im_sep|system|user|assistant|endoftext|end|eot_id|start_header_id|end_header_id|begin_of_text|endofprompt|channel|message)\|{1,2}>|<｜\w{1,20}[\w▁]{0,20}｜>|<(?:start|end)_of_turn>/i,
  },
  {
    name: 'role_markup',
    pattern:
      /\[\/?INST\]|<<\/?SYS>>|\[\/?(?:system|assistant|developer|admin)(?:[ _-](?:message|prompt|note|override|instructions?|update|notice))?\]|\(system\)/i,
  },
  {
    name: 'role_markup',
    pattern:
      /<\/?(?:system|assistant|developer|system[-_ ]?(?:prompt|message|instructions?|reminder|note|override)|user[-_]?(?:input|query|message|data|request|prompt)|untrusted[\w-]{0,30}|external[-_]?(?:data|content)|webhook[-_]?(?:payload|data|body)|tool[-_](?:calls?|results?|use|output|response)|function[-_](?:calls?|results?|response)|invoke|antml:\w{1,30}|instructions?|important_?instructions?|admin|prompt)(?:\s[^<>]{0,100})?>/i,
  },
  {
    name: 'role_markup',
    pattern: new RegExp(
      `(?:^|[\\n>"'\`])${between}(?:#{1,6}|\\*{1,2}|>|-)?${between}(?:system|assistant|developer)(?: (?:prompt|message|instructions?|override|notice|update))?(?:\\*{1,2})?${between}:(?:\\*{1,2})?${between}(?:you|ignore|new|from now|the (?:assistant|ai|user|agent|model|following)|your|disregard|override|enter|all (?:previous|prior)|do not|don't|forget|sure|understood|okay|ok,|of course|i will|please|reveal|respond|always|never|this)\\b`,
      'i',
    ),
  },
  {
    name: 'role_markup',
    pattern:
      /#{2,6}[^\S\n]{0,3}(?:system(?: prompt| message| instructions?| override)?|instructions?|new (?:instructions?|task|system prompt)|(?:ai|assistant|agent) (?:instructions?|directives?))[^\S\n]{0,3}(?:#{1,6}|:|\n)/i,
  },
  {
    name: 'role_markup',
    pattern:
      /\n\s{0,8}\n\s{0,8}(?:human|assistant|user|ai):\s[\s\S]{0,2000}?\n\s{0,8}\n\s{0,8}(?:human|assistant|user|ai):|\n\n(?:human|assistant): ?(?:sure|ignore|ok|understood|yes|i|please|now)\b/i,
  },
  {
    name: 'role_markup',
    pattern:
      /\b(?:begin|start)(?:ning)?(?: of)? (?:the )?(?:system|new|hidden|secret|admin|trusted|developer|privileged|internal)(?: system)? (?:prompt|instructions?|message|context|session)\b/i,
  },
  {
    name: 'role_markup',
    pattern:
      /["']role["']\s{0,3}:\s{0,3}["'](?:system|developer|assistant)["']|["']?(?:tool_calls|function_call|tool_use)["']?\s{0,3}:\s{0,3}[[{]/i,
  },
  {
    name: 'role_markup',
    pattern:
      /(?:-{3,20}|={3,20}|\*{3,20}|#{3,20}|"{3}|`{3}|<{1,4}|\[{1,3})[^\S\n]{0,3}\/?(?:end|stop)(?:[ _-]of)?(?:[ _-]the)?(?:[ _-](?:user|untrusted|webhook|external|customer|provider|system))?[ _-](?:input|data|message|document|e-?mail|text|payload|content|context|prompt|instructions?|untrusted\w{0,20}|issue|ticket|body|webhook)\b/i,
  },
  { name: 'exfiltration', pattern: /!\[[^\]\n]{0,200}\]\(\s{0,4}https?:\/\/[^\s)]{1,500}?(?:\{\{?|\$\{|%7B|<|\[)[\w ]/i },
  {
    name: 'exfiltration',
    pattern:
      /!\[[^\]\n]{0,200}\]\(\s{0,4}https?:\/\/[^\s)]{1,500}?[?&](?:data|exfil|leak|secret|token|history|conversation|prompt|context|stolen|payload|c|d|q|p|x)=/i,
  },
  {
    name: 'exfiltration',
    pattern:
      /<img\b[^>]{0,200}\bsrc=["']?https?:\/\/[^"'>\s]{1,500}?(?:\{\{|\$\{|%7B%7B|\[(?:data|secret|prompt|token|conversation)|[?&](?:data|exfil|leak|secret|token|history|conversation|prompt)=)/i,
  },
  {
    name: 'exfiltration',
    pattern:
      /\bhttps?:\/\/[\w.-]{0,100}\b(?:webhook\.site|requestbin\.\w{2,4}|pipedream\.net|ngrok(?:-free)?\.\w{2,4}|burpcollaborator\.net|oastify\.com|interact\.sh|oast\.\w{2,6}|beeceptor\.com|requestcatcher\.com|canarytokens\.com|dnslog\.cn|ngrok\.io)\b/i,
  },
  {
    name: 'dangerous_action',
    pattern:
      /\brm\s{1,4}-[rf]{2,3}\s{1,4}(?:--no-preserve-root\s{1,4})?(?:\/|~|\*|\$HOME)(?:[\s"'`;*]|$)|\b(?:curl|wget)\s[^|\n]{1,300}\|\s{0,4}(?:sudo\s{1,4})?(?:ba|z)?sh\b|\bDROP\s{1,4}(?:TABLE|DATABASE)\s{1,4}\w{1,64}\s{0,4};\s{0,4}--/i,
  },
  {
    name: 'hidden_markup',
    pattern:
      /(?:display\s{0,2}:\s{0,2}none|font-size\s{0,2}:\s{0,2}0|opacity\s{0,2}:\s{0,2}0(?![.\d])|color\s{0,2}:\s{0,2}(?:white|#fff(?:fff)?)\b|visibility\s{0,2}:\s{0,2}hidden)[^>]{0,200}>[^<]{0,600}\b(?:ignore|disregard|assistant|ai|llm|instructions?|prompt|system|you must|reply|respond)\b/i,
  },
];

const COMMENT = /<!--([\s\S]{1,1000}?)-->/g;
const READER = /\b(?:ai|llm|assistant|agent|model|chatgpt|claude|copilot|bot)s?\b/i;
const DEMAND = /\b(?:must|should|ignore|please|reply|respond|send|add|run|execute|approve|always|instead|do not)\b/i;
const OVERRIDE = /\b(?:ignore|disregard)\b/i;
const OVERRIDDEN = /\b(?:instructions?|prompt|above|previous)\b/i;

/** Comments in HTML or Markdown. */
export const hasInstructingComment = (text: string): boolean =>
  [...text.matchAll(COMMENT)].some(([, comment]) =>
    [
      [READER, DEMAND],
      [OVERRIDE, OVERRIDDEN],
    ].some((parts) => parts.every((part) => part.test(comment!))),
  );
