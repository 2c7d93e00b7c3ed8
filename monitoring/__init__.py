"""What watches a daemon from outside: a Grafana dashboard, Prometheus rules, and pictures of them.

    dashboard.py       builds entropyd.json, the dashboard to import
    recording.yml      recording rules that dashboard and alerts share
    alerts.yml         what wakes somebody; each alert has its paragraph in docs/operations.md
    alerts_test.yml    promtool's tests of both
    prometheus.yml     a scrape configuration to begin with
    render.py          draws the dashboard from a Prometheus, where there is no Grafana

None of it is installed with the daemon.
"""
