/**
 * The HTML page for a browser that opens the service's URL. It says that the platform is running, and links to its
 * parts.
 */
export const LANDING_PAGE = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Annals</title>
<style>
:root { color-scheme: light dark } body { font: 16px/1.5 system-ui, sans-serif; max-width: 42em; margin: 4em auto; padding: 0 1em }
pre { padding: 1em; overflow-x: auto; border: 1px solid; border-radius: 6px } li { margin: .4em 0 }
</style></head>
<body>
<h1>Annals is running</h1>
<p>Next:</p>
<ul>
<li><a href="/console">Open the console</a>. <code>annals login</code> prints a link that signs your browser in.</li>
<li><a href="/docs">Read the API reference</a>, and try requests there with your API key. The documents for tools are
<a href="/openapi.json">/openapi.json</a> (the REST API) and <a href="/asyncapi.json">/asyncapi.json</a> (the messages to runners).</li>
<li>Call the API. The first start printed the API key and the two <code>export</code> lines for it:
<pre>curl -H "Authorization: Bearer $ANNALS_KEY" "$ANNALS_URL/me"</pre></li>
<li>No API key? Anyone who has the data directory creates one with <code>annals keys create --super-admin</code>;
members get theirs by an invitation.</li>
<li><a href="/readyz">See whether all parts work</a>; <code>annals doctor</code> explains what does not.</li>
<li><a href="/guides/tour">Follow the five-minute tour</a>: an agent, a webhook, a runner, the audit log.
<a href="/guides">The guides</a> explain everything else.</li>
</ul>
</body>
</html>
`;
