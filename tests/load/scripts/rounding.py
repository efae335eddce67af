"""Run by test_precision in a process of its own, since importing Locust patches the process. Prints JSON."""

import json

from bench.load.precision import install_precision, three_digits_ms


def main() -> None:
    from locust.stats import RequestStats

    before = RequestStats()
    before.log_request("redis", "acquire", 0.3149, 0)  # type: ignore[arg-type]
    install_precision()
    after = RequestStats()
    for value_ms in (0.3149, 0.3149, 0.3149, 7.777, 1234.5):
        after.log_request("redis", "acquire", value_ms, 0)  # type: ignore[arg-type]
    row = after.get("acquire", "redis").to_dict()
    print(
        json.dumps(
            {
                "locust_alone": before.get("acquire", "redis").get_response_time_percentile(0.5),
                "median": row["median_response_time"],
                "percentiles": {name: value for name, value in row.items() if "percentile" in name},
                "rounded": [three_digits_ms(value) for value in (0, -1, 0.000812, 0.0123456, 0.9996, 12.345, 99_999)],
            }
        )
    )


main()
