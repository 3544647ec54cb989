/** The settings of Scalar, which renders the page. They keep Scalar from sending requests to other hosts. */
const SCALAR_SETTINGS = {
  telemetry: false,
  withDefaultFonts: false,
  showDeveloperTools: 'never',
  hideClientButton: true,
  agent: { disabled: true },
  mcp: { disabled: true },
};

/**
 * The script that renders the page. It sends API requests to the page's own origin instead of the server in the OpenAPI
 * document, because the content security policy allows no other origin. It disables the optional parameters in sample
 * requests. Scalar would send them empty, and the API refuses empty parameters. It adds a link to the form in the
 * console to the description of each operation that has one.
 */
export const BOOT_SCRIPT = `fetch('/openapi.json').then((answer) => answer.json()).then((content) => {
  const operations = Object.values(content.paths).flatMap((path) => Object.values(path));
  const parameters = [content.components, ...operations].flatMap((one) => Object.values(one.parameters ?? []));
  for (const one of parameters) if (one.in && !one.required) one.examples = { default: { value: '', 'x-disabled': true } };
  for (const one of operations) {
    const form = one['x-console-form'];
    if (form) one.description += '\\n\\n[Open the form in the console](' + form + ')';
  }
  Scalar.createApiReference('#app', { ...${JSON.stringify(SCALAR_SETTINGS)}, content, servers: [{ url: location.origin }] });
});
`;

/** The policy that lets the page load resources only from this service, and send requests only to it. */
export const CONTENT_SECURITY_POLICY = `default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

export const PAGE = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Annals API</title></head>
<body><div id="app"></div><script src="/docs/scalar.js"></script><script src="/docs/boot.js"></script></body>
</html>
`;
